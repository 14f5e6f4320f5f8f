/** How long an upstream waits for what, in milliseconds. */
export type McpTiming = {
  /** `start` holds up the service no longer. */
  readonly startMs: number;
  /** For one connection; `npx` may have to fetch a package first. */
  readonly connectMs: number;
  readonly listMs: number;
  /** Between the first two lines of the log about a list that cannot be read; each further pause is twice as long. */
  readonly listLogMs: number;
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
  /** A connection that lasted so long was a good one: the next death begins with the first back-off. */
  readonly stableMs: number;
  readonly pingEveryMs: number;
  readonly pingWithinMs: number;
  /** Where calls are always running: after so long without a single answer it is asked too. */
  readonly silentMs: number;
  readonly pollEveryMs: number;
  /** Between two readings of the list, however often a server says that it has changed. */
  readonly refreshGapMs: number;
  /** Between end of input, SIGTERM and SIGKILL. */
  readonly graceMs: number;
};

export const DEFAULT_TIMING: McpTiming = {
  startMs: 10_000,
  connectMs: 60_000,
  listMs: 30_000,
  listLogMs: 60_000,
  firstBackoffMs: 500,
  maxBackoffMs: 30_000,
  stableMs: 10_000,
  pingEveryMs: 30_000,
  pingWithinMs: 10_000,
  silentMs: 120_000,
  pollEveryMs: 300_000,
  refreshGapMs: 5_000,
  graceMs: 2_000,
};
