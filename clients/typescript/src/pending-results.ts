import type { SendLimits } from './create-execute.ts';
import { type Answered, type Outgoing, type Send, toBadAnswer } from './create-send.ts';
import { toRetryAfterMs } from './judge-attempt.ts';
import { isResults, parseJson } from './read-body.ts';
import { RecourseError } from './recourse-error.ts';
import { toQuery } from './to-query.ts';
import type { ToolResult } from './wire.ts';

/** The results of a batch as they are now. */
export type ResultsAnswer = {
  readonly requestId: string;
  /** `pending` as long as any of the results is. */
  readonly status: 'pending' | 'done';
  /** One per call, in the order of the calls. */
  readonly results: readonly ToolResult[];
};

export type ResultsOptions = SendLimits & {
  /** How long the service waits for pending calls before it answers, in milliseconds, at most 30 000; 0 unless given. */
  readonly waitMs?: number | undefined;
  /** Which of them must have ended for an answer before that; `all` unless given. */
  readonly until?: 'all' | 'any' | undefined;
};

export type CancelOptions = SendLimits & {
  /** The place of the one call; all calls of the batch unless given. */
  readonly index?: number | undefined;
  /** Also cuts off writes that are running: nobody knows then how they ended. */
  readonly force?: boolean | undefined;
};

export type PendingResults = {
  /** The results of a batch, as they are now or after a wait. */
  readonly results: (requestId: string, options?: ResultsOptions) => Promise<ResultsAnswer>;
  /** Ends pending calls; gives the results as they are then. Calls that go on are pending in it. */
  readonly cancel: (requestId: string, options?: CancelOptions) => Promise<ResultsAnswer>;
};

// Proxies give up after 30 s without a byte.
const POLL_MS = 25_000;
// One that answers later than its wait was lost on the way.
const GRACE_MS = 10_000;

type Asked = { readonly outgoing: Outgoing; readonly answered: Answered };

/** Asks where pending calls stand; `toStep` makes a name a step of a path. */
export const createPendingResults = (
  send: Send,
  defaultTimeoutMs: number,
  toStep: (name: string) => string,
): PendingResults => {
  const ask = async (
    what: Pick<Outgoing, 'method' | 'path'>,
    waitMs: number,
    { timeoutMs = defaultTimeoutMs, signal }: SendLimits,
  ): Promise<Asked> => {
    const outgoing: Outgoing = {
      ...what,
      requestId: crypto.randomUUID(),
      idempotencyKey: null,
      attemptTimeoutMs: waitMs + GRACE_MS,
      timeoutMs,
      signal,
    };
    return { outgoing, answered: await send(outgoing) };
  };
  return {
    results: async (requestId, { waitMs = 0, until, ...limits } = {}) => {
      const query = toQuery({ wait_ms: waitMs === 0 ? undefined : Math.ceil(waitMs), until });
      return toResults(
        requestId,
        await ask({ method: 'GET', path: `tool-calls/${toStep(requestId)}${query}` }, waitMs, limits),
      );
    },
    cancel: async (requestId, { index, force = false, ...limits } = {}) => {
      const one = index === undefined ? '' : `/calls/${toStep(String(index))}`;
      const path = `tool-calls/${toStep(requestId)}${one}${toQuery({ force: force ? 'true' : undefined })}`;
      return toResults(requestId, await ask({ method: 'DELETE', path }, 0, limits));
    },
  };
};

const toResults = (requestId: string, { outgoing, answered }: Asked): ResultsAnswer => {
  const body = parseJson(answered.text);
  if (isResults(body)) return { requestId, status: statusOf(body.results), results: body.results };
  throw toBadAnswer(outgoing, answered);
};

/** Whether any of the results is that of a call that has not ended. */
const statusOf = (results: readonly ToolResult[]): ResultsAnswer['status'] =>
  results.some(({ outcome }) => outcome === 'pending') ? 'pending' : 'done';

/**
 * Asks for the results of an accepted batch until all of its calls have ended, and gives those; `onResults` hears of each answer. Rejects with a
 * RecourseError, `still_pending` where `endsAt` (of `performance.now`) comes first: the calls go on all the same.
 */
export const waitForAll = async (
  send: Send,
  batch: Outgoing,
  endsAt: number,
  onResults: (results: readonly ToolResult[]) => void,
): Promise<readonly ToolResult[]> => {
  let known: Known | null = null;
  for (;;) {
    const startedAt = performance.now();
    const leftMs = endsAt - startedAt;
    if (leftMs <= 0) throw toStillPending(batch);
    const waitMs = Math.ceil(Math.min(POLL_MS, leftMs));
    const outgoing = toPoll(batch, waitMs, leftMs, known);
    const answered: Answered = await sendPoll(send, outgoing, batch);
    if (answered.status !== 304) {
      known = toKnown(outgoing, answered);
      onResults(known.results);
    }
    if (known?.status === 'done') return known.results;
    // The service has waited already; one that answers at once must not be asked without a pause.
    const pauseMs =
      (toRetryAfterMs(answered.headers.get('retry-after'), Date.now()) ?? LEAST_PAUSE_MS) || LEAST_PAUSE_MS;
    await pause(Math.min(startedAt + pauseMs, endsAt) - performance.now(), batch.signal);
  }
};

const LEAST_PAUSE_MS = 500;

type Known = ResultsAnswer & { readonly etag: string | null };

const toKnown = (outgoing: Outgoing, answered: Answered): Known => ({
  ...toResults(outgoing.requestId, { outgoing, answered }),
  etag: answered.headers.get('etag'),
});

const toPoll = (batch: Outgoing, waitMs: number, timeoutMs: number, known: Known | null): Outgoing => ({
  method: 'GET',
  // A request id is made of characters that mean nothing in a path.
  path: `tool-calls/${encodeURIComponent(batch.requestId)}${toQuery({ wait_ms: waitMs })}`,
  requestId: crypto.randomUUID(),
  idempotencyKey: null,
  attemptTimeoutMs: waitMs + GRACE_MS,
  timeoutMs: timeoutMs + GRACE_MS,
  signal: batch.signal,
  expected: [304],
  ...(known?.etag ? { headers: { 'if-none-match': known.etag } } : {}),
});

/** What fails here fails for a batch that was accepted: its calls may have run, and it is the batch that can be asked for. */
const sendPoll = async (send: Send, poll: Outgoing, batch: Outgoing): Promise<Answered> => {
  try {
    return await send(poll);
  } catch (error) {
    if (!(error instanceof RecourseError)) throw error;
    const { requestId, idempotencyKey } = batch;
    throw new RecourseError(error.message, { ...error, requestId, idempotencyKey, mayHaveRun: true }, error.cause);
  }
};

const toStillPending = ({ requestId, idempotencyKey }: Outgoing): RecourseError =>
  new RecourseError('Some calls have not ended in time. They go on; ask for them by results(requestId).', {
    code: 'still_pending',
    status: null,
    problem: null,
    retryAfterMs: null,
    requestId,
    idempotencyKey,
    attempts: 1,
    mayHaveRun: true,
  });

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> => {
  signal?.throwIfAborted();
  if (ms <= 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
};
