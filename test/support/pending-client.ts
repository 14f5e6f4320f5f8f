import * as z from 'zod';
import { ToolCallsResponse, type ToolResult } from '#src/contract/tool-result.ts';
import { type Actor, createActor } from './keyed-client.ts';

/** One answer about a batch whose calls may go on. */
export type PendingAnswer = {
  readonly status: number;
  readonly headers: Headers;
  /** `status` of the body; null where it has none. */
  readonly state: 'pending' | 'done' | null;
  readonly results: readonly ToolResult[];
  readonly requestId: string;
  /** The `code` of a problem; null for any other body. */
  readonly problem: string | null;
};

type Asked = {
  readonly method?: 'POST' | 'GET' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

const Coded = z.object({ code: z.string() });

const toAnswer = async (answer: Response): Promise<PendingAnswer> => {
  const text = await answer.text();
  const seen = { status: answer.status, headers: answer.headers, requestId: answer.headers.get('x-request-id') ?? '' };
  if (answer.status === 304) return { ...seen, state: null, results: [], problem: null };
  const body: unknown = JSON.parse(text);
  if (answer.status >= 400) return { ...seen, state: null, results: [], problem: Coded.parse(body).code };
  const { results, status = null } = ToolCallsResponse.parse(body);
  return { ...seen, state: status, results, problem: null };
};

// A machine that is busy may keep Redis from an answer within 50 ms. What was refused for that has not run.
const isAway = ({ status, results }: PendingAnswer): boolean =>
  status === 503 || results.some(({ error }) => error?.code === 'store_unavailable');

const TRIES = 20;
const PAUSE_MS = 250;

/** Asks a service about calls that outlive their requests; again where it could not ask its store. */
export const createPendingClient = (url: string) => {
  const ask = async (path: string, asked: Asked = {}): Promise<PendingAnswer> => {
    let answer = await askOnce(path, asked);
    for (let tries = 1; tries < TRIES && isAway(answer); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      answer = await askOnce(path, asked);
    }
    return answer;
  };
  const askOnce = async (path: string, { method = 'GET', headers = {}, body }: Asked): Promise<PendingAnswer> =>
    toAnswer(
      await fetch(`${url}${path}`, {
        method,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  return {
    ask,
    /** Posts a batch that prefers an asynchronous answer after so many seconds. */
    begin: (body: object, { wait = 0, headers = {} }: { wait?: number; headers?: Record<string, string> } = {}) =>
      ask('/tool-calls', { method: 'POST', body, headers: { prefer: `respond-async, wait=${wait}`, ...headers } }),
    /** Waits for the end of all its calls. */
    finish: (requestId: string, headers: Record<string, string> = {}) =>
      ask(`/tool-calls/${requestId}?wait_ms=20000`, { headers }),
  };
};

/** A tool whose calls a test lets go one by one. */
export type HeldTool = Actor & {
  /** Ends the calls that run, and all later ones at once. */
  readonly release: () => void;
  /** Resolves when so many calls have begun. */
  readonly begun: (count?: number) => Promise<void>;
};

const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_done, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/** A background tool that waits until it is let go, unless it is aborted. */
export const createHeldTool = (name: string, rest: Parameters<typeof createActor>[1] = {}): HeldTool => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const actor = createActor(name, { background: 'optional', ...rest }, async (_input, { signal }) => {
    // A write does not listen: what it does cannot be taken back half way.
    await (rest.effects === 'write' ? promise : Promise.race([promise, whenAborted(signal)]));
    return `${name} done`;
  });
  const begun = async (count = 1): Promise<void> => {
    while (actor.asked.length < count) await new Promise((next) => setTimeout(next, 5));
  };
  return { ...actor, release: () => resolve(), begun };
};
