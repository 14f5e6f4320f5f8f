import { execFile } from 'node:child_process';
import { promisify, stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { type RunningProcess, startProcess } from '#test/support/start-process.ts';
import { makeDirectory } from '#test/tools/directory/temporary-directory.ts';
import { readEvents } from './stream-lab.ts';

// Clients that send or read as slowly as they can, by slowhttptest, while others call and listen.

const TOOLS = `
  import { existsSync } from 'node:fs';
  import { join } from 'node:path';
  import { setTimeout as pause } from 'node:timers/promises';
  import { defineTool } from 'recourse';
  const input = { type: 'object', additionalProperties: true };
  export const build = defineTool({
    name: 'build',
    description: 'Builds until it is told to end.',
    effects: 'read',
    background: 'always',
    input,
    run: async ({ place }) => {
      while (!existsSync(join(place, 'go'))) await pause(50);
      return 'built';
    },
  });
  export const say = defineTool({
    name: 'say',
    description: 'Says what it was told.',
    effects: 'read',
    input,
    run: ({ text }) => text,
  });
`;

const CONNECTIONS = 500;
const SECONDS = 8;
const STREAMS = 20;

/**
 * What is slow, where, the words that make it so, and whether they are sent away meanwhile. Readers take an answer of some
 * 100 KB a byte a second: it is written, and waits in the system's buffers.
 */
const MODES = [
  ['headers', '/tool-calls', ['-H', '-i', '2'], true],
  ['bodies', '/tool-calls', ['-B', '-t', 'POST', '-f', 'application/json', '-s', '8192', '-i', '2'], true],
  ['readers', '/openapi.json', ['-X', '-w', '8', '-y', '16', '-n', '2', '-z', '1', '-k', '1'], false],
] as const;

// Shorter than the slow ones last, so that they are seen to be sent away.
const start = (): Promise<RunningProcess> => {
  const tools = makeDirectory();
  tools.write('tools.ts', TOOLS);
  return startProcess({ by: 'node', environment: { TOOLS_DIR: tools.root, REQUEST_TIMEOUT_MS: '3000' } });
};

const post = (
  url: string,
  calls: readonly object[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ calls }),
  });

/** Its last report: how many of its connections are in which state. */
const attack = async (url: string, words: readonly string[]): Promise<Readonly<Record<string, number>>> => {
  const terms = ['-c', String(CONNECTIONS), '-r', '200', '-l', String(SECONDS), '-p', '2', '-u', url];
  const { stdout } = await promisify(execFile)('slowhttptest', [...words, ...terms], { maxBuffer: 16 * 1024 * 1024 });
  const report: Record<string, number> = {};
  for (const [, name = '', count] of stripVTControlCharacters(stdout).matchAll(/^(\w[\w ]*):\s+(\d+)\s*$/gm))
    report[name] = Number(count);
  return report;
};

test.each(MODES)(
  '500 clients with slow %s take nothing from those who call and those who listen',
  async (_name, path, words, areSentAway) => {
    const { url } = await start();
    const place = makeDirectory();
    const streams = await Promise.all(
      Array.from({ length: STREAMS }, (_, index) =>
        post(url, [{ id: index, name: 'build', arguments: { place: place.root, index } }], {
          prefer: 'respond-async',
          accept: 'application/x-ndjson',
        }),
      ),
    );
    const heard = Promise.all(streams.map((stream) => stream.text()));
    let ended = false;
    const attacked = attack(`${url}${path}`, words).finally(() => {
      ended = true;
    });
    const results: unknown[] = [];
    while (!ended) {
      const text = `text ${results.length}`;
      const answer = await post(url, [{ id: text, name: 'say', arguments: { text } }]);
      results.push(await answer.json());
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const report = await attacked;
    expect(results.length).toBeGreaterThan(50);
    for (const [place, result] of results.entries())
      expect(result).toMatchObject({ results: [{ id: `text ${place}`, outcome: 'success', value: `text ${place}` }] });
    expect(report).toMatchObject({ error: 0 });
    expect((report['connected'] ?? 0) + (report['closed'] ?? 0)).toBe(CONNECTIONS);
    expect((report['closed'] ?? 0) > 0).toBe(areSentAway);
    place.write('go', '');
    for (const text of await heard) {
      const events = readEvents(text, 'ndjson');
      expect(events.at(-2)).toMatchObject({ event: 'result', data: { outcome: 'success', value: 'built' } });
      expect(events.at(-1)).toMatchObject({ event: 'done' });
    }
    expect((await fetch(`${url}/ready`)).status).toBe(200);
  },
);
