import { readSandboxUsage } from './sandbox-usage.ts';

/** A limit on all that a command starts, which the kernel does not hold for us. */
export type WatchedLimit = 'processes' | 'memory' | 'files in memory';

export type WatchdogLimits = { readonly maxProcesses: number; readonly memoryBytes: number };

/** Looks at running sandboxes several times a second. */
export type Watchdog = {
  /** `onOver` is told once. Returns the end of watching. */
  readonly watch: (firstPid: number, onOver: (limit: WatchedLimit) => void) => () => void;
};

const LOOK_EVERY_MS = 50;
// With many commands at once looking must not keep the service from answering: a twentieth of its time, if that is often enough.
const MOST_OF_TIME = 20;
const LOOK_AT_LEAST_EVERY_MS = 500;
/** Of /tmp and /dev/shm: some 100 MB of the kernel's memory. */
export const MAX_MEMORY_FILES = 100_000;

/** RLIMIT_NPROC does not bind root, not even in a user namespace, and no resource limit adds up the memory of processes. */
export const createWatchdog = ({ maxProcesses, memoryBytes }: WatchdogLimits): Watchdog => {
  const watched = new Map<number, (limit: WatchedLimit) => void>();
  let isScheduled = false;

  const findOver = (firstPid: number): WatchedLimit | null => {
    const usage = readSandboxUsage(firstPid, { maxTasks: maxProcesses, memoryBytes });
    if (usage.tasks > maxProcesses) return 'processes';
    if (usage.memoryBytes > memoryBytes) return 'memory';
    return usage.memoryFiles > MAX_MEMORY_FILES ? 'files in memory' : null;
  };

  const look = (): void => {
    const began = performance.now();
    for (const [firstPid, onOver] of [...watched]) {
      const over = findOver(firstPid);
      if (over === null) continue;
      watched.delete(firstPid);
      onOver(over);
    }
    isScheduled = false;
    schedule(Math.min(Math.max(LOOK_EVERY_MS, (performance.now() - began) * MOST_OF_TIME), LOOK_AT_LEAST_EVERY_MS));
  };

  const schedule = (ms: number): void => {
    if (isScheduled || watched.size === 0) return;
    isScheduled = true;
    setTimeout(look, ms).unref();
  };

  return {
    watch: (firstPid, onOver) => {
      watched.set(firstPid, onOver);
      schedule(LOOK_EVERY_MS);
      return () => {
        if (watched.get(firstPid) === onOver) watched.delete(firstPid);
      };
    },
  };
};
