import { setImmediate } from 'node:timers/promises';

/** Lets the thread answer searches in the middle of long work. */
export type Pace = {
  /** Asked often; true where the work has gone on long enough without a rest. */
  readonly isDue: () => boolean;
  /** Resolves once everything that waited has been answered. */
  readonly rest: () => Promise<void>;
};

// What a search may have to wait for: well below the 20 ms that it should take as a whole.
const SLICE_MS = 4;

export const createPace = (now: () => number = () => performance.now()): Pace => {
  let since = now();
  return {
    isDue: () => now() - since >= SLICE_MS,
    rest: async () => {
      await setImmediate();
      since = now();
    },
  };
};
