import { createHideKey, type HideKey } from './hide-key.ts';
import { type Attempt, judgeAttempt, toUnreachedCode, toWaitMs, type Verdict } from './judge-attempt.ts';
import { readText } from './read-text.ts';
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
  /** `stream`: a success is handed on as it comes. Left out: every answer is read to its end. */
  readonly answer?: 'stream';
  /** One attempt has this long for its answer. */
  readonly attemptTimeoutMs: number;
  /** All attempts and the waits between them have this long. */
  readonly timeoutMs: number;
  /** How often it is sent again after an attempt without any answer. */
  readonly lostRepeats?: number | undefined;
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
  /** Of one answer, decompressed. */
  readonly maxAnswerBytes: number;
};

/**
 * Sends a request until it is answered, its time is up, or the answer says that sending it again is no use. Rejects with
 * a RecourseError, or with what the caller's signal was aborted with.
 */
export const createSend = (options: SendOptions): Send => {
  const { url, apiKey, connectTimeoutMs } = options;
  const tryOnce = createTryOnce(options);
  return async (outgoing) => {
    const startedAt = performance.now();
    const endsAt = startedAt + outgoing.timeoutMs;
    const target = new URL(outgoing.path, url);
    // Made once: what no header can carry is the caller's mistake and throws here, before anything is sent.
    const headers = toHeaders(outgoing, apiKey);
    let soFar: Sum = { reached: false, mayHaveRun: false, lost: 0 };
    for (let attempts = 1; ; attempts += 1) {
      const limitMs = Math.max(1, Math.min(outgoing.attemptTimeoutMs, endsAt - performance.now()));
      const attempt = await tryOnce(target, { ...outgoing, headers }, limitMs);
      if (attempt.kind === 'answered' && isExpected(attempt.status, outgoing)) return { ...attempt, attempts };
      const verdict = add(soFar, judgeAttempt(attempt));
      soFar = verdict;
      const givesUpAt = startedAt + toPatienceMs(verdict, outgoing, connectTimeoutMs);
      const waitMs = toWaitMs(attempts, verdict.retryAfterMs, Math.random());
      if (!mayRepeat(verdict, outgoing) || performance.now() + waitMs >= givesUpAt)
        throw toError(outgoing, attempt, { ...verdict, attempts, ...options });
      await wait(waitMs, outgoing.signal);
    }
  };
};

/** Without a key a batch that may have run is not sent again. */
const mayRepeat = (
  { again, mayHaveRun, lost }: Verdict,
  { answer, idempotencyKey, lostRepeats = Infinity }: Outgoing,
): boolean => again && lost <= lostRepeats && (answer === undefined || idempotencyKey !== null || !mayHaveRun);

// Nobody there is hardly worth minutes: nothing has run, and the caller can be told so.
const toPatienceMs = ({ reached }: Verdict, { timeoutMs }: Outgoing, connectTimeoutMs: number): number =>
  reached ? timeoutMs : Math.min(timeoutMs, connectTimeoutMs);

type Sum = Pick<Verdict, 'reached' | 'mayHaveRun' | 'lost'>;

/** What one attempt has done, all have. */
const add = (soFar: Sum, verdict: Verdict): Verdict => ({
  ...verdict,
  reached: soFar.reached || verdict.reached,
  mayHaveRun: soFar.mayHaveRun || verdict.mayHaveRun,
  lost: soFar.lost + verdict.lost,
});

const toHeaders = ({ requestId, idempotencyKey, body, headers }: Outgoing, apiKey: string | undefined): Headers =>
  new Headers({
    ...headers,
    'x-request-id': requestId,
    ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(apiKey === undefined ? {} : { authorization: toAuthorization(apiKey) }),
  });

// The platform's own error would repeat the key.
const toAuthorization = (apiKey: string): string => {
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(apiKey.trim()))
    throw new TypeError('apiKey contains a character that is not allowed in a header.');
  return `Bearer ${apiKey}`;
};

const isExpected = (status: number, { expected = [] }: Outgoing): boolean =>
  (status >= 200 && status < 300) || expected.includes(status);

type Prepared = Omit<Outgoing, 'headers'> & { readonly headers: Headers };

type TryOnce = (target: URL, prepared: Prepared, limitMs: number) => Promise<Attempt>;

const createTryOnce = ({ fetch, apiKey, maxAnswerBytes }: SendOptions): TryOnce => {
  const hideKey = createHideKey(apiKey);
  return async (target, { method, body, headers, signal, answer: manner }, limitMs) => {
    const limit = AbortSignal.timeout(Math.min(LONGEST_TIMER_MS, Math.ceil(limitMs)));
    try {
      const answer = await fetch(target, {
        method,
        headers,
        // A redirect would turn the POST into a GET, or hand the key to somebody else.
        redirect: 'manual',
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
        ...(body === undefined ? {} : { body }),
      });
      if (manner === 'stream' && answer.ok)
        return { kind: 'answered', status: answer.status, headers: answer.headers, text: '', body: answer.body };
      return toAttempt(answer, await readText(answer, maxAnswerBytes), hideKey);
    } catch (cause) {
      signal?.throwIfAborted();
      hideKey.inCause(cause);
      return { kind: 'lost', cause };
    }
  };
};

const toAttempt = ({ ok, status, headers }: Response, text: string | null, hideKey: HideKey): Attempt =>
  text === null
    ? { kind: 'oversized', status }
    : // What tools returned stays as it is; anything else may end in an error, and from there in a log.
      { kind: 'answered', status, headers, text: ok ? text : hideKey.inText(text), body: null };

// Timers of all platforms take no more than 31 bits, and a longer one is over at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const wait = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      },
      Math.min(LONGEST_TIMER_MS, ms),
    );
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted === true) stop();
  });

/** What all attempts came to. */
type Outcome = Verdict & Pick<SendOptions, 'url' | 'maxAnswerBytes'> & { readonly attempts: number };

const toError = (outgoing: Outgoing, attempt: Attempt, outcome: Outcome): RecourseError => {
  if (attempt.kind === 'lost') {
    const { cause } = attempt;
    return createError(outgoing, { ...outcome, status: null, code: 'no_answer' }, toSilence(cause, outcome), cause);
  }
  const { problem, maxAnswerBytes } = outcome;
  const { status } = attempt;
  if (attempt.kind === 'oversized')
    return createError(outgoing, { ...outcome, status, code: 'answer_too_large' }, toOversize(maxAnswerBytes));
  if (problem === null) return createError(outgoing, { ...outcome, status, code: 'bad_answer' }, NOT_OURS);
  return createError(outgoing, { ...outcome, status, code: problem.code }, toLine(problem.detail));
};

const toSilence = (cause: unknown, { reached, url }: Outcome): string =>
  reached ? NO_ANSWER : `Nothing answers at ${url.origin} (${toUnreachedCode(cause)}). Is the service running?`;

const toOversize = (maxBytes: number): string =>
  `The answer is larger than ${maxBytes} bytes and was not read to its end. Raise maxAnswerBytes to accept it.`;

// More than this is no sentence of the service, and not for a log.
const MAX_DETAIL = 1_000;

// Whoever answers with a problem writes a part of the message: one line, without codes that a terminal obeys.
const toLine = (detail: string): string => detail.slice(0, MAX_DETAIL).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');

const NO_ANSWER = 'The service did not answer in time.';
const NOT_OURS = 'The answer is not from a Recourse service. Check the URL, and any proxy in front of the service.';

/** What is thrown where an answer is a success by its status and by nothing else. */
export const toBadAnswer = (outgoing: Outgoing, { status, attempts }: Answered): RecourseError =>
  createError(
    outgoing,
    { problem: null, retryAfterMs: null, mayHaveRun: true, attempts, status, code: 'bad_answer' },
    NOT_OURS,
  );

/** What is thrown where a stream ended before it was whole. */
export const toBrokenStream = (
  outgoing: Outgoing,
  { status, attempts }: Pick<Answered, 'status' | 'attempts'>,
  cause: unknown,
): RecourseError =>
  createError(
    outgoing,
    { problem: null, retryAfterMs: null, mayHaveRun: true, attempts, status, code: 'no_answer' },
    BROKEN_STREAM,
    cause,
  );

const BROKEN_STREAM = 'The stream broke before its last event.';

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
