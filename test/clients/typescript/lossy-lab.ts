import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A tools directory with one tool that writes, `write_note`: it counts its runs, and answers when it is let go. */
export type NoteTool = {
  readonly environment: Readonly<Record<string, string>>;
  /** How often it has run with this note, in whatever process. */
  readonly runs: (note: string) => number;
  /** From now on it answers. */
  readonly letGo: () => void;
};

const toSource = (runs: string, gate: string): string => `
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { defineTool, z } from 'recourse-server';

export const writeNote = defineTool({
  name: 'write_note',
  description: 'Has a side effect.',
  effects: 'write',
  input: z.object({ note: z.string() }),
  run: async ({ note }) => {
    appendFileSync(${JSON.stringify(runs)}, note + '\\n');
    while (!existsSync(${JSON.stringify(gate)})) await setTimeout(5);
    return note;
  },
});
`;

export const createNoteTool = (): NoteTool => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-client-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const [runs, gate] = [join(directory, 'runs.txt'), join(directory, 'gate')];
  writeFileSync(runs, '');
  writeFileSync(join(directory, 'write-note.ts'), toSource(runs, gate));
  return {
    environment: { TOOLS_DIR: directory },
    runs: (note) =>
      existsSync(runs)
        ? readFileSync(runs, 'utf8')
            .split('\n')
            .filter((line) => line === note).length
        : 0,
    letGo: () => writeFileSync(gate, ''),
  };
};

/** One attempt as the network saw it. */
export type SeenAttempt = {
  readonly key: string | null;
  readonly requestId: string | null;
  readonly body: string;
  /** null where no answer came. */
  readonly status: number | null;
};

/** The real fetch, remembering what went through it. `route` may send an attempt elsewhere; attempts count from 1. */
export const createWatchedFetch = (route: (attempt: number, url: URL) => URL = (_attempt, url) => url) => {
  const attempts: SeenAttempt[] = [];
  const watched: typeof fetch = async (input, init) => {
    const headers = new Headers(init?.headers);
    const sent = {
      key: headers.get('idempotency-key'),
      requestId: headers.get('x-request-id'),
      body: String(init?.body),
    };
    const place = attempts.push({ ...sent, status: null }) - 1;
    const answer = await fetch(route(place + 1, new URL(String(input))), init);
    attempts[place] = { ...sent, status: answer.status };
    return answer;
  };
  return { fetch: watched, attempts, statuses: () => attempts.map(({ status }) => status) };
};
