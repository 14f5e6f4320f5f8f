import type { COMPARED_TO } from './options.ts';

/** Least ratio of throughput, by what is measured and the calls of a batch. */
export const RATIO_TARGETS = {
  embedded: { 1: 0.75, 32: 0.5 },
  redis: { 1: 0.45, 32: 0.45 },
  failing: { 1: 0.6, 32: 0.6 },
} as const satisfies Record<keyof typeof COMPARED_TO, Record<BatchSize, number>>;

export const BATCH_SIZES = [1, 32] as const;
export type BatchSize = (typeof BATCH_SIZES)[number];

/** Least share of the throughput that metrics and log may leave. */
export const MIN_LEFT_BY_METRICS_AND_LOG = 0.85;

/** Least share of the native throughput that is left where a batch is a provider's own message, answered in kind. */
export const MIN_RAW_TO_NATIVE = 0.85;

export const MAX_FIRST_ANSWER_MS = 800;
export const MAX_IDLE_MB = 110;

/** What a tool host may add to a call, at the median. */
export const MAX_ADDED_MS = 0.15;
/** Isolated calls that one core of the service must give to hosts in a second. */
export const MIN_ISOLATED_PER_SECOND = 6000;
/** Least share of the peak that is left of it under ten times as much. */
export const MIN_GOODPUT = 0.8;
/** From a deadline to its answer, and from there until the hosts are as they were: at most, in 99 of 100 cases. */
export const MAX_ANSWER_AFTER_DEADLINE_MS = 50;
export const MAX_WHOLE_AGAIN_MS = 300;
