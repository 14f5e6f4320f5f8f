import type { CallEnding } from '../executor/call-slots.ts';
import { Usual } from './usual.ts';

/** How long calls take, as learned from those that have ended. In milliseconds; 0 while too few have. */
export type Pace = {
  readonly meanMs: () => number;
  /** What half of the calls need at least. */
  readonly usualMs: () => number;
  /** `cut_off`: it would have taken longer, so that only the mean learns from it. */
  readonly learn: (durationMs: number, ended: CallEnding) => void;
};

/** Fewer say nothing yet, and a guess must not cost a call its run. */
export const LEAST_SAMPLES = 20;
const MEAN_WEIGHT = 0.1;

export const createPace = (): Pace => {
  const usual = new Usual();
  let samples = 0;
  let mean = 0;
  return {
    meanMs: () => (samples < LEAST_SAMPLES ? 0 : mean),
    usualMs: () => (usual.samples < LEAST_SAMPLES ? 0 : usual.value),
    learn: (durationMs, ended) => {
      samples += 1;
      mean = samples === 1 ? durationMs : mean + (durationMs - mean) * MEAN_WEIGHT;
      if (ended !== 'cut_off') usual.learn(durationMs);
    },
  };
};
