import { type Attempt, judgeAttempt, toUnreachedCode, toWaitMs, type Verdict } from './judge-attempt.ts';
import { RecourseError } from './recourse-error.ts';

/** One request, the same in every attempt. */
export type Outgoing = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Behind the service's URL, without a slash in front. */
  readonly path: string;
  readonly body?: string;
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  /** Beside those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses that are an answer although they are no success. */
  readonly expected?: readonly number[];
  /** One attempt has this long for its answer. */
  readonly attemptTimeoutMs: number;
  /** All attempts and the waits between them have this long. */
  readonly timeoutMs: number;
  /** Ends everything at once; what it is aborted with is thrown. */
  readonly signal?: AbortSignal | undefined;
};

export type Answered = Extract<Attempt, { readonly kind: 'answered' }> & { readonly attempts: number };

export type Send = (outgoing: Outgoing) => Promise<Answered>;

export type SendOptions = {
  readonly url: URL;
  readonly apiKey: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  /** All attempts have this long for a first connection. */
  readonly connectTimeoutMs: number;
};

/**
 * Sends a request until it is answered, its time is up, or the answer says that sending it again is no use. Rejects with
 * a RecourseError, or with what the caller's signal was aborted with.
 */
export const createSend =
  ({ url, apiKey, fetch, connectTimeoutMs }: SendOptions): Send =>
  async (outgoing) => {
    const startedAt = performance.now();
    const endsAt = startedAt + outgoing.timeoutMs;
    const target = new URL(outgoing.path, url);
    // Made once: what no header can carry is the caller's mistake and throws here, before anything is sent.
    const headers = toHeaders(outgoing, apiKey);
    let soFar: Sum = { reached: false, mayHaveRun: false };
    for (let attempts = 1; ; attempts += 1) {
      const limitMs = Math.max(1, Math.min(outgoing.attemptTimeoutMs, endsAt - performance.now()));
      const attempt = await tryOnce(fetch, target, { ...outgoing, headers }, limitMs);
      if (attempt.kind === 'answered' && isExpected(attempt.status, outgoing)) return { ...attempt, attempts };
      const verdict = add(soFar, judgeAttempt(attempt));
      soFar = verdict;
      const givesUpAt = startedAt + toPatienceMs(verdict, outgoing, connectTimeoutMs);
      const waitMs = toWaitMs(attempts, verdict.retryAfterMs, Math.random());
      if (!verdict.again || performance.now() + waitMs >= givesUpAt)
        throw toError(outgoing, attempt, { ...verdict, attempts, origin: url.origin });
      await wait(waitMs, outgoing.signal);
    }
  };

// Nobody there is hardly worth minutes: nothing has run, and the caller can be told so.
const toPatienceMs = ({ reached }: Verdict, { timeoutMs }: Outgoing, connectTimeoutMs: number): number =>
  reached ? timeoutMs : Math.min(timeoutMs, connectTimeoutMs);

type Sum = Pick<Verdict, 'reached' | 'mayHaveRun'>;

/** What one attempt has done, all have. */
const add = (soFar: Sum, verdict: Verdict): Verdict => ({
  ...verdict,
  reached: soFar.reached || verdict.reached,
  mayHaveRun: soFar.mayHaveRun || verdict.mayHaveRun,
});

const toHeaders = ({ requestId, idempotencyKey, body, headers }: Outgoing, apiKey: string | undefined): Headers =>
  new Headers({
    ...headers,
    'x-request-id': requestId,
    ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  });

const isExpected = (status: number, { expected = [] }: Outgoing): boolean =>
  (status >= 200 && status < 300) || expected.includes(status);

type Prepared = Omit<Outgoing, 'headers'> & { readonly headers: Headers };

const tryOnce = async (
  fetch: SendOptions['fetch'],
  target: URL,
  { method, body, headers, signal }: Prepared,
  limitMs: number,
): Promise<Attempt> => {
  const limit = AbortSignal.timeout(Math.ceil(limitMs));
  try {
    const answer = await fetch(target, {
      method,
      headers,
      // A redirect would turn the POST into a GET, or hand the key to somebody else.
      redirect: 'manual',
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      ...(body === undefined ? {} : { body }),
    });
    return { kind: 'answered', status: answer.status, headers: answer.headers, text: await answer.text() };
  } catch (cause) {
    signal?.throwIfAborted();
    return { kind: 'lost', cause };
  }
};

const wait = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted === true) stop();
  });

/** What all attempts came to. */
type Outcome = Verdict & { readonly attempts: number; readonly origin: string };

const toError = (outgoing: Outgoing, attempt: Attempt, outcome: Outcome): RecourseError => {
  if (attempt.kind === 'lost') {
    const { cause } = attempt;
    return createError(outgoing, { ...outcome, status: null, code: 'no_answer' }, toSilence(cause, outcome), cause);
  }
  const { problem } = outcome;
  const { status } = attempt;
  if (problem === null) return createError(outgoing, { ...outcome, status, code: 'bad_answer' }, NOT_OURS);
  return createError(outgoing, { ...outcome, status, code: problem.code }, problem.detail);
};

const toSilence = (cause: unknown, { reached, origin }: Outcome): string =>
  reached ? NO_ANSWER : `Nothing answers at ${origin} (${toUnreachedCode(cause)}). Is the service running?`;

const NO_ANSWER = 'No answer came in time.';
const NOT_OURS = 'This is no answer of a Recourse. Is the URL right, and is there a proxy before it?';

/** What is thrown where an answer is a success by its status and by nothing else. */
export const toBadAnswer = (outgoing: Outgoing, { status, attempts }: Answered): RecourseError =>
  createError(
    outgoing,
    { problem: null, retryAfterMs: null, mayHaveRun: true, attempts, status, code: 'bad_answer' },
    NOT_OURS,
  );

type Seen = Pick<RecourseError, 'code' | 'status' | 'problem' | 'retryAfterMs' | 'attempts' | 'mayHaveRun'>;

const createError = (
  { method, path, requestId, idempotencyKey }: Outgoing,
  { code, status, problem, retryAfterMs, attempts, mayHaveRun }: Seen,
  detail: string,
  cause?: unknown,
): RecourseError => {
  const message = `${method} /${path.replace(/\?.*/, '')} (${status ?? code}): ${detail}`;
  const details = { code, status, problem, retryAfterMs, attempts, mayHaveRun, requestId, idempotencyKey };
  return new RecourseError(message, details, cause);
};
