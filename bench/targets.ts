import type { COMPARED_TO } from './options.ts';

/** Least ratio of throughput, by what is measured and the calls of a batch. */
export const RATIO_TARGETS = {
  embedded: { 1: 0.75, 32: 0.5 },
  redis: { 1: 0.45, 32: 0.45 },
  failing: { 1: 0.6, 32: 0.6 },
} as const satisfies Record<keyof typeof COMPARED_TO, Record<BatchSize, number>>;

export const BATCH_SIZES = [1, 32] as const;
export type BatchSize = (typeof BATCH_SIZES)[number];

export const MAX_FIRST_ANSWER_MS = 800;
export const MAX_IDLE_MB = 110;
