import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import * as z from 'zod';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import { freshName } from './keyed-client.ts';
import { timeLimit } from './time-limit.ts';

// Callers who send writes under a key of their own, again and again until each has an end, to replicas that come and go.

const toTools = (ledger: string): string => `
  import { appendFileSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  import { defineTool, z } from 'recourse-server';
  const make = (name, background) =>
    defineTool({
      name,
      description: 'Writes a line.',
      effects: 'write',
      background,
      input: z.object({ id: z.string(), ms: z.number() }),
      run: async ({ id, ms }) => {
        appendFileSync(${JSON.stringify(ledger)}, id + '\\n');
        await pause(ms);
        return id;
      },
    });
  export const direct = make('direct', 'never');
  export const queued = make('queued', 'always');
`;

/** What a caller has met on its way to the end of one write. */
export type WriteEnd = {
  readonly id: string;
  /** `ok`, or the code of its failure. */
  readonly code: string;
  /** How often it was not taken. */
  readonly refusals: number;
  /** How often a place that a 202 had named was not found. */
  readonly notFound: number;
  /** From the first sending to its end, in milliseconds. */
  readonly tookMs: number;
};

/** How a write is sent: its answer is waited for, or it is queued and asked for. `ms`: how long it takes. */
export type WritePlan = { readonly tool: 'direct' | 'queued'; readonly ms: number };

const GIVEN_UP_MS = timeLimit(90_000);
const AGAIN_MS = 200;
const REQUEST_MS = 40_000;

// The same key runs these again: nothing has run.
const REFUSED: ReadonlySet<string> = new Set([
  'store_unavailable',
  'overloaded',
  'shutting_down',
  'cancelled',
  'circuit_open',
  // Redis is nearly full.
  'call_limit_exceeded',
  'tool_unavailable',
]);

type Answer = { readonly status: number; readonly code: string; readonly location: string | null };

const NO_ANSWER: Answer = { status: 0, code: 'no_answer', location: null };

const send = async (url: string, more: RequestInit = {}): Promise<Answer> => {
  try {
    const answer = await fetch(url, { ...more, signal: AbortSignal.timeout(REQUEST_MS) });
    const body: unknown = await answer.json();
    const location = answer.headers.get('location');
    if (answer.status >= 400)
      return { status: answer.status, code: z.object({ code: z.string() }).parse(body).code, location };
    const [result] = ToolCallsResponse.parse(body).results;
    const code = result?.error?.code ?? (result?.outcome === 'success' ? 'ok' : String(result?.outcome));
    return { status: answer.status, code, location };
  } catch (_broken) {
    // The replica has gone, or does not answer.
    return NO_ANSWER;
  }
};

type Taken = Pick<WriteEnd, 'code' | 'notFound'>;

/** Asks for what a 202 has named until it has ended. */
const follow = async (ask: () => Promise<Answer>, until: number): Promise<Taken> => {
  let notFound = 0;
  for (let now = await ask(); performance.now() < until; now = await ask()) {
    if (now.status === 200) return { code: now.code, notFound };
    if (now.status === 404) notFound += 1;
    if (now.status !== 202) await pause(AGAIN_MS);
  }
  return { code: 'no_end', notFound };
};

/** Writes of one test, and the ledger that they write. `replicas`: the addresses of those that serve now. */
export const createWriteLoad = (replicas: () => readonly string[]) => {
  const ledger = join(makeDirectory({ ledger: '' }).root, 'ledger');
  const tools = makeDirectory({ 'tools.ts': toTools(ledger) });
  let turn = 0;
  const nextReplica = (): string => {
    turn += 1;
    const urls = replicas();
    return urls[turn % urls.length] ?? '';
  };
  const post = (id: string, { tool, ms }: WritePlan): Promise<Answer> =>
    send(`${nextReplica()}/tool-calls`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': id,
        ...(tool === 'queued' ? { prefer: 'respond-async, wait=0' } : {}),
      },
      body: JSON.stringify({ calls: [{ name: tool, arguments: { id, ms } }] }),
    });
  /** null: it was not taken, and may be sent again. */
  const sendOnce = async (id: string, plan: WritePlan, until: number): Promise<Taken | null> => {
    const { status, code, location } = await post(id, plan);
    if (status === 202 && location === null) return { code: 'no_location', notFound: 1 };
    // Of any replica.
    if (status === 202) return follow(() => send(`${nextReplica()}${location}?wait_ms=2000`), until);
    return status === 200 && !REFUSED.has(code) ? { code, notFound: 0 } : null;
  };
  return {
    toolsDirectory: tools.root,
    /** Sends one write until it has an end. */
    write: async (plan: WritePlan): Promise<WriteEnd> => {
      const id = freshName();
      const startedAt = performance.now();
      const until = startedAt + GIVEN_UP_MS;
      let refusals = 0;
      const tookMs = (): number => performance.now() - startedAt;
      while (performance.now() < until) {
        const taken = await sendOnce(id, plan, until);
        if (taken !== null) return { id, refusals, tookMs: tookMs(), ...taken };
        refusals += 1;
        await pause(AGAIN_MS);
      }
      return { id, refusals, tookMs: tookMs(), code: 'no_end', notFound: 0 };
    },
    /** What is wrong with how writes have ended, by the ledger: each that says so was written once, and none twice. */
    judge: (ends: readonly WriteEnd[]) => {
      const lines = new Map<string, number>();
      for (const line of readFileSync(ledger, 'utf8').split('\n')) lines.set(line, (lines.get(line) ?? 0) + 1);
      const linesOf = (id: string): number => lines.get(id) ?? 0;
      return {
        notOk: ends.filter(({ code }) => code !== 'ok').map(({ code, id }) => `${code}, written ${linesOf(id)} times`),
        lost: ends.filter(({ code, id }) => code === 'ok' && linesOf(id) === 0).length,
        doubled: ends.filter(({ id }) => linesOf(id) > 1).length,
        notFound: ends.filter(({ notFound }) => notFound > 0).length,
      };
    },
  };
};

/** What `judge` says where nothing is wrong. */
export const ALL_WRITTEN_ONCE = { notOk: [], lost: 0, doubled: 0, notFound: 0 };

/** Begins so many things a second, and goes on as long as `isOn`. */
export const beginEach = async <Thing>(
  perSecond: number,
  isOn: () => boolean,
  begin: (count: number) => Promise<Thing>,
): Promise<readonly Thing[]> => {
  const things: Promise<Thing>[] = [];
  while (isOn()) {
    things.push(begin(things.length));
    await pause(1000 / perSecond);
  }
  return Promise.all(things);
};
