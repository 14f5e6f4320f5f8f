import type { CallEnding } from '../executor/call-slots.ts';

/** How long calls take, as learned from those that have ended. In milliseconds; 0 while too few have. */
export type Pace = {
  readonly meanMs: () => number;
  /** What half of the calls need at least. One call in ten that takes minutes does not move it, as it does the mean. */
  readonly usualMs: () => number;
  /** `cut_off`: it would have taken longer, so that only the mean learns from it. */
  readonly learn: (durationMs: number, ended: CallEnding) => void;
};

// Fewer say nothing yet, and a guess must not cost a call its run.
const LEAST_SAMPLES = 20;
const MEAN_WEIGHT = 0.1;
// Each call moves the median by a tenth of itself: two decades in fifty calls, and ten percent off at rest.
const MEDIAN_STEP = 1.1;
const LEAST_MEDIAN_MS = 0.01;

export const createPace = (): Pace => {
  let samples = 0;
  let typical = 0;
  let mean = 0;
  let median = 0;
  return {
    meanMs: () => (samples < LEAST_SAMPLES ? 0 : mean),
    usualMs: () => (typical < LEAST_SAMPLES ? 0 : median),
    learn: (durationMs, ended) => {
      samples += 1;
      mean = samples === 1 ? durationMs : mean + (durationMs - mean) * MEAN_WEIGHT;
      if (ended === 'cut_off') return;
      typical += 1;
      if (typical === 1) median = Math.max(LEAST_MEDIAN_MS, durationMs);
      else if (durationMs > median) median *= MEDIAN_STEP;
      else if (median > LEAST_MEDIAN_MS) median /= MEDIAN_STEP;
    },
  };
};
