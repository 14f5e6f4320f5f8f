import { countFileLocks, MAX_FILE_LOCKS } from './file-locks.ts';
import type { MemoryEnd } from './memory-limit.ts';
import { readSandboxUsage } from './sandbox-usage.ts';

/** A limit on all that a command starts: the kernel does not hold it for us, or does not end all of the command. */
export type WatchedLimit = 'processes' | 'files in memory' | 'file locks' | MemoryEnd;

export type WatchedSandbox = {
  readonly firstPid: number;
  /** Why the kernel ended processes of it; null while it has ended none. */
  readonly findMemoryEnd: () => MemoryEnd | null;
};

export type WatchdogLimits = { readonly maxProcesses: number; readonly memoryBytes: number };

/** Looks at running sandboxes several times a second. */
export type Watchdog = {
  /** `onOver` is told once. Returns the end of watching. */
  readonly watch: (sandbox: WatchedSandbox, onOver: (limit: WatchedLimit) => void) => () => void;
};

const LOOK_EVERY_MS = 50;
// With many commands at once looking must not keep the service from answering: a twentieth of its time, if that is often enough.
const MOST_OF_TIME = 20;
const LOOK_AT_LEAST_EVERY_MS = 500;
// Who looks waits for the kernel, in one of the few threads for files: one sandbox after another, after so much rest.
const LOOK_AT_LOCKS_EVERY_MS = 100;
/** Of /tmp and /dev/shm: some 100 MB of the kernel's memory. */
export const MAX_MEMORY_FILES = 100_000;

/** RLIMIT_NPROC does not bind root, not even in a user namespace, and no resource limit adds up the memory of processes. */
export const createWatchdog = ({ maxProcesses, memoryBytes }: WatchdogLimits): Watchdog => {
  const watched = new Map<WatchedSandbox, (limit: WatchedLimit) => void>();
  let isScheduled = false;
  let isLookingAtLocks = false;

  const findOver = ({ firstPid, findMemoryEnd }: WatchedSandbox): WatchedLimit | null => {
    const ended = findMemoryEnd();
    if (ended !== null) return ended;
    const usage = readSandboxUsage(firstPid, { maxTasks: maxProcesses, memoryBytes });
    if (usage.tasks > maxProcesses) return 'processes';
    if (usage.memoryBytes > memoryBytes) return 'memory';
    return usage.memoryFiles > MAX_MEMORY_FILES ? 'files in memory' : null;
  };

  const end = (sandbox: WatchedSandbox, over: WatchedLimit): void => {
    const onOver = watched.get(sandbox);
    watched.delete(sandbox);
    onOver?.(over);
  };

  const look = (): void => {
    const began = performance.now();
    for (const sandbox of [...watched.keys()]) {
      const over = findOver(sandbox);
      if (over !== null) end(sandbox, over);
    }
    isScheduled = false;
    schedule(Math.min(Math.max(LOOK_EVERY_MS, (performance.now() - began) * MOST_OF_TIME), LOOK_AT_LEAST_EVERY_MS));
  };

  const schedule = (ms: number): void => {
    if (isScheduled || watched.size === 0) return;
    isScheduled = true;
    setTimeout(look, ms).unref();
  };

  const lookAtLocks = async (): Promise<void> => {
    for (const sandbox of [...watched.keys()]) {
      const locks = watched.has(sandbox) ? await countFileLocks(sandbox.firstPid) : 0;
      if (locks > MAX_FILE_LOCKS) end(sandbox, 'file locks');
    }
    isLookingAtLocks = false;
    scheduleLocks();
  };

  const scheduleLocks = (): void => {
    if (isLookingAtLocks || watched.size === 0) return;
    isLookingAtLocks = true;
    setTimeout(() => void lookAtLocks(), LOOK_AT_LOCKS_EVERY_MS).unref();
  };

  return {
    watch: (sandbox, onOver) => {
      watched.set(sandbox, onOver);
      schedule(LOOK_EVERY_MS);
      scheduleLocks();
      return () => void watched.delete(sandbox);
    },
  };
};
