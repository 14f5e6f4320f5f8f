import { type Attempt, judgeAttempt, toWaitMs, type Verdict } from './judge-attempt.ts';
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
};

/**
 * Sends a request until it is answered, its time is up, or the answer says that sending it again is no use. Rejects with
 * a RecourseError, or with what the caller's signal was aborted with.
 */
export const createSend =
  ({ url, apiKey, fetch }: SendOptions): Send =>
  async (outgoing) => {
    const endsAt = performance.now() + outgoing.timeoutMs;
    const target = new URL(outgoing.path, url);
    // Made once: what no header can carry is the caller's mistake and throws here, before anything is sent.
    const headers = toHeaders(outgoing, apiKey);
    let mayHaveRun = false;
    for (let attempts = 1; ; attempts += 1) {
      const limitMs = Math.max(1, Math.min(outgoing.attemptTimeoutMs, endsAt - performance.now()));
      const attempt = await tryOnce(fetch, target, { ...outgoing, headers }, limitMs);
      if (attempt.kind === 'answered' && isExpected(attempt.status, outgoing)) return { ...attempt, attempts };
      const verdict = judgeAttempt(attempt);
      mayHaveRun ||= verdict.mayHaveRun;
      const waitMs = toWaitMs(attempts, verdict.retryAfterMs, Math.random());
      if (!verdict.again || performance.now() + waitMs >= endsAt)
        throw toError(outgoing, attempt, { ...verdict, mayHaveRun }, attempts);
      await wait(waitMs, outgoing.signal);
    }
  };

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

const toError = (outgoing: Outgoing, attempt: Attempt, verdict: Verdict, attempts: number): RecourseError => {
  const { problem } = verdict;
  if (attempt.kind === 'lost')
    return createError(outgoing, { ...verdict, attempts, status: null, code: 'no_answer' }, NO_ANSWER, attempt.cause);
  const { status } = attempt;
  if (problem === null) return createError(outgoing, { ...verdict, attempts, status, code: 'bad_answer' }, NOT_OURS);
  return createError(outgoing, { ...verdict, attempts, status, code: problem.code }, problem.detail);
};

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
