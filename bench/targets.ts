/** What the main table compares with a bare route. */
export type MainCase = 'one' | 'one_of_session' | 'many' | 'many_of_session';

/** Least share of a bare route's batches that the service answers with the same processor time. */
export const EMBEDDED_TARGETS = {
  one: 0.74,
  one_of_session: 0.62,
  many: 0.76,
  many_of_session: 0.52,
} as const satisfies Record<MainCase, number>;
/** The same on Redis, of a bare route that makes one trip to Redis: a batch of no session makes none. */
export const REDIS_TARGETS = { one_of_session: 0.5, many_of_session: 0.38 } as const;

/** Least share of succeeding calls, and most times a call that reads a file. */
export const MIN_FAILING_SHARE = 0.7;
export const MAX_THROWING_TIMES = 1.7;
/** What a tool host may add to a call, at the median: on the core of the service, or on another. */
export const MAX_ADDED_MS = { sameCore: 0.16, otherCore: 0.12 } as const;
/** Least share of its settled speed that a service has in the two seconds after its first answer. */
export const MIN_RIGHT_AFTER_START = 0.9;
export const MAX_FIRST_ANSWER_MS = 800;
export const MAX_IDLE_MB = 110;

/** Most that a call may cost beside many of anything, as often as beside few. */
export const MAX_GROWTH_TIMES = 1.1;
/** Most times that a call of a name that no tool has may cost what a plain one does. */
export const MAX_UNKNOWN_TIMES = 1.5;

/** Least share that metrics and log may leave of a service without them. */
export const MIN_LEFT_BY_METRICS_AND_LOG = 0.85;
/** Least share of native batches where a batch is a provider's own message, answered in kind. */
export const MIN_RAW_TO_NATIVE = 0.85;

/** Least share of the peak that is left of it under ten times as much. */
export const MIN_GOODPUT = 0.8;
/** From a deadline to its answer, and from there until the hosts are as they were: at most, in 99 of 100 cases. */
export const MAX_ANSWER_AFTER_DEADLINE_MS = 50;
export const MAX_WHOLE_AGAIN_MS = 300;

/** Least share of the calls that workers could run if nothing but the calls took time. */
export const MIN_SHARE_OF_IDEAL_THROUGHPUT = 0.9;
/** Of the service and Redis together, for 10 000 calls that wait. */
export const MAX_MB_OF_WAITING_CALLS = 50;
/** What 5 000 long polls and 1 000 streams may add to the p99 of another caller's call. */
export const MAX_ADDED_BY_WAITERS_MS = 5;
