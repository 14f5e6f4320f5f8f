import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, NoAnswer, Silence } from './exchange.ts';
import { parseRetryAfter } from './response-status.ts';

/** Time and chance, as the retries use them. */
export type RetryClock = {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Resolves after `ms`, rejects when `signal` aborts. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** At least 0, less than 1. */
  readonly random: () => number;
};

export const systemRetryClock: RetryClock = {
  now: () => Date.now(),
  pause: (ms, signal) => pause(ms, undefined, { signal }),
  random: () => Math.random(),
};

const MAX_ATTEMPTS = 3;
const FIRST_DELAY_MS = 250;
// A wait that leaves the request itself no time is a wait for nothing.
const LEAST_REQUEST_MS = 250;
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const TRANSIENT_SILENCES: ReadonlySet<Silence> = new Set<Silence>(['lookup_failed', 'not_connected', 'lost']);

/** Whether a status says "not now" rather than "not this". */
export const isTransientStatus = (status: number): boolean => TRANSIENT_STATUSES.has(status);

/** The wait the answer asks for, in milliseconds, undefined where it asks for none. */
export const retryAfterOf = (outcome: Answer | NoAnswer, nowMs: number): number | undefined =>
  outcome.kind === 'answer' ? parseRetryAfter(outcome.headers.get('retry-after'), nowMs) : undefined;

/**
 * Sends a safe request, and again where the failure is one that passes: 429, 502, 503, 504, or a connection that
 * failed. Waits 250 ms, then 500 ms, each between half and whole by chance (a crowd must not return as one), or as long
 * as `Retry-After` says. Gives up at once where `deadlineMs` leaves no time for wait and request, or where the wait is too long. `send` may not reject.
 */
export const retryTransport = async (
  send: () => Promise<Answer | NoAnswer>,
  limits: {
    readonly clock: RetryClock;
    readonly deadlineMs: number;
    readonly signal: AbortSignal;
    /** Milliseconds: a longer wait is not begun. Default: none is too long. */
    readonly longestWaitMs?: number | undefined;
    /** Which statuses say "not now". */
    readonly isTransient?: ((status: number) => boolean) | undefined;
  },
): Promise<{ readonly outcome: Answer | NoAnswer; readonly attempts: number }> => {
  const {
    clock,
    deadlineMs,
    signal,
    isTransient = isTransientStatus,
    longestWaitMs = Number.POSITIVE_INFINITY,
  } = limits;
  for (let attempts = 1; ; attempts += 1) {
    const outcome = await send();
    if (attempts === MAX_ATTEMPTS || !passes(outcome, isTransient)) return { outcome, attempts };
    const delayMs = decideDelayMs(attempts, clock.random(), retryAfterOf(outcome, clock.now()));
    if (delayMs > longestWaitMs) return { outcome, attempts };
    if (clock.now() + delayMs + LEAST_REQUEST_MS > deadlineMs) return { outcome, attempts };
    await clock.pause(delayMs, signal);
  }
};

const passes = (outcome: Answer | NoAnswer, isTransient: (status: number) => boolean): boolean =>
  outcome.kind === 'answer' ? isTransient(outcome.status) : TRANSIENT_SILENCES.has(outcome.reason);

const decideDelayMs = (attempt: number, random: number, retryAfterMs: number | undefined): number => {
  const backoffMs = FIRST_DELAY_MS * 2 ** (attempt - 1) * (0.5 + random / 2);
  return Math.max(backoffMs, retryAfterMs ?? 0);
};
