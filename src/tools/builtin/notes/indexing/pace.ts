import { setImmediate } from 'node:timers/promises';

/** Lets the thread answer searches in the middle of long work. */
export type Pace = {
  /** Asked often; true where the work has gone on long enough without a rest. */
  readonly isDue: () => boolean;
  /** Resolves once everything that waited has been answered. */
  readonly rest: () => Promise<void>;
};

// What a search may have to wait for: well below the 20 ms that it should take as a whole.
const SLICE_MS = 3;

// Where searches come without a pause the work would get nothing but its slices, and a scan would take a second: then
// everybody waits for its end. So it goes on for half as long as it has just rested, and gets a third of the time. That has
// no upper limit: on a busy machine a slice of 30 ms costs a search less than the wait of 200 ms for a scan that is late.
const LEAST_SHARE = 0.5;

/** `now` and `letOthers` (resolves when all that waited is done) are for tests. */
export const createPace = (now: () => number = () => performance.now(), letOthers = () => setImmediate()): Pace => {
  let since = now();
  let sliceMs = SLICE_MS;
  return {
    isDue: () => now() - since >= sliceMs,
    rest: async () => {
      const restedFrom = now();
      await letOthers();
      since = now();
      sliceMs = Math.max(SLICE_MS, (since - restedFrom) * LEAST_SHARE);
    },
  };
};
