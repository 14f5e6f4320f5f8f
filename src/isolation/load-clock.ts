/** What a clock that allows for a busy machine reads. In milliseconds. */
export type LoadClockOptions = {
  /** Time that the process may take, without what it waits for a processor. */
  readonly maxMs: number;
  /** How long it has waited for a processor since it started. */
  readonly waitedMs: () => number;
  readonly now: () => number;
  readonly onOver: () => void;
};

// Whoever waits for a file does not wait for ever, however busy the machine is.
const LONGEST_MS = 15_000;

/** Calls `onOver` once when the time is over; gives the way to stop it. */
export const startLoadClock = ({ maxMs, waitedMs, now, onOver }: LoadClockOptions): (() => void) => {
  const startedAt = now();
  const waitedBefore = waitedMs();
  const look = (): void => {
    const tookMs = now() - startedAt;
    const leftMs = Math.min(maxMs + waitedMs() - waitedBefore, Math.max(maxMs, LONGEST_MS)) - tookMs;
    if (leftMs <= 0) onOver();
    else timer = setTimeout(look, Math.ceil(leftMs));
  };
  let timer = setTimeout(look, maxMs);
  return () => clearTimeout(timer);
};
