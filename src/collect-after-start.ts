import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const INTERVAL_MS = 200;
// Five seconds: what a service that has had no such interval until then holds is no longer what its start left behind.
const INTERVALS = 25;
const MOST_UTILIZATION = 0.1;

/**
 * Gives what only the start needed back to the system (measured: 16 MB): one full collection after the first 200 ms in
 * which the event loop was idle. It blocks for 0.1 s, which is why it never happens again, and not at all under load.
 * Resolves with how long it took; null: the process was never idle.
 */
export const collectAfterStart = async (): Promise<number | null> => {
  for (let count = 0; count < INTERVALS; count += 1) {
    const before = performance.eventLoopUtilization();
    await pause(INTERVAL_MS, undefined, { ref: false });
    if (performance.eventLoopUtilization(before).utilization <= MOST_UTILIZATION) return collect();
  }
  return null;
};

const collect = (): number => {
  const beganAt = performance.now();
  // Set for as long as it takes to get hold of the function: the compile cache is good for the flags it was made with.
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  // Any other flavour leaves the pages that are free now in V8's pool.
  if (typeof gc === 'function') Reflect.apply(gc, undefined, [{ type: 'major', flavor: 'last-resort' }]);
  return performance.now() - beganAt;
};
