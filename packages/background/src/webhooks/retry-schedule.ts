const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** How long after its event a message is tried again. */
export const GIVE_UP_MS = 24 * HOUR_MS;

// Ten attempts within a day: soon after a restart of the receiver, rarely during a long outage.
const DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
  8 * HOUR_MS,
];

/**
 * Milliseconds until the next attempt; null: no attempt is left. Between four fifths and the whole of a step, by chance: messages that
 * failed together must not return together.
 */
export const findRetryDelay = ({
  attempt,
  ageMs,
  retryAfterMs = 0,
  random,
}: {
  /** The first is 1. */
  readonly attempt: number;
  /** Milliseconds since the event. */
  readonly ageMs: number;
  /** Milliseconds the endpoint asked for; undefined where it asked for none. */
  readonly retryAfterMs: number | undefined;
  /** At least 0, less than 1. */
  readonly random: number;
}): number | null => {
  const step = DELAYS_MS[attempt - 1];
  if (step === undefined) return null;
  const delayMs = Math.max(Math.round(step * (0.8 + random / 5)), retryAfterMs);
  return ageMs + delayMs > GIVE_UP_MS ? null : delayMs;
};
