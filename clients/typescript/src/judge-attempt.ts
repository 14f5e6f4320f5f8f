import { isProblem, parseJson } from './read-body.ts';
import type { Problem } from './wire.ts';

/** What one attempt came to: an answer of HTTP, read to its end, one that is too large to be read, or nothing. */
export type Attempt =
  | { readonly kind: 'oversized'; readonly status: number }
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: Headers;
      readonly text: string;
      /** What is still to be read, of a stream; null where the text is all. */
      readonly body: ReadableStream<Uint8Array> | null;
    }
  | { readonly kind: 'lost'; readonly cause: unknown };

/** What to make of it. `again`: the same request may be sent once more. */
export type Verdict = {
  readonly again: boolean;
  /** false: there was no connection, and nothing was sent. */
  readonly reached: boolean;
  readonly mayHaveRun: boolean;
  /** How many attempts were sent and had no answer at all. */
  readonly lost: number;
  readonly retryAfterMs: number | null;
  readonly problem: Problem | null;
};

/**
 * Decides by status alone what is tried again: late (408), still running under the same key (409), too many (429), the
 * service is full or going (503), a proxy had no answer (502, 504). What a client must mend is never sent again.
 */
export const judgeAttempt = (attempt: Attempt): Verdict => {
  if (attempt.kind === 'lost') {
    const reached = toUnreachedCode(attempt.cause) === null;
    return { again: true, reached, mayHaveRun: reached, lost: reached ? 1 : 0, retryAfterMs: null, problem: null };
  }
  // Asked for again it would be as large.
  if (attempt.kind === 'oversized')
    return { again: false, reached: true, mayHaveRun: true, lost: 0, retryAfterMs: null, problem: null };
  const { status, headers, text } = attempt;
  const body = parseJson(text);
  const problem = isProblem(body) ? body : null;
  return {
    again: AGAIN.includes(status),
    reached: true,
    // The service's own 503 says that nothing ran. Every other one may stand for a request that a proxy has passed on.
    mayHaveRun: status >= 500 ? problem === null || status !== 503 : status === 409,
    lost: 0,
    retryAfterMs: toRetryAfterMs(headers.get('retry-after'), Date.now()),
    problem,
  };
};

const AGAIN: readonly number[] = [408, 409, 429, 502, 503, 504];

// The codes of Node, Bun and undici. Elsewhere the cause is hidden, and the request counts as sent.
const NEVER_SENT: readonly string[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
];

const codeOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'code' in value ? value.code : undefined;

/** The platform's word for why there was no connection; null where there was one, or nobody knows. */
export const toUnreachedCode = (cause: unknown): string | null => {
  const codes = [codeOf(cause), cause instanceof Error ? codeOf(cause.cause) : undefined];
  return NEVER_SENT.find((code) => codes.includes(code)) ?? null;
};

/** Milliseconds of a Retry-After (RFC 9110): seconds or a date. null where it says neither. */
export const toRetryAfterMs = (text: string | null, now: number): number | null => {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * 1000;
  // Platforms take "-5", "1.5" and "5, 5" for days long past. A date of HTTP begins with a weekday.
  const date = /^\s*[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
};

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5_000;
// Clients that were told the same time do not all come back in the same moment.
const SPREAD_MS = 250;

/**
 * How long to wait after so many attempts: as told, else twice as long each time; `random` is from 0 to 1. "At once" is
 * not taken literally: a service or a proxy that says so again and again would be flooded.
 */
export const toWaitMs = (attempts: number, retryAfterMs: number | null, random: number): number => {
  if (retryAfterMs !== null && retryAfterMs > 0) return retryAfterMs + random * SPREAD_MS;
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - 1)) * (0.5 + random / 2);
};
