import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** A control group whose processes together get no more memory than it says: beyond it the kernel kills one of them. */
export type MemoryCage = {
  /** Words of a command that runs `command` in it. */
  readonly wrap: (command: readonly string[]) => readonly [string, ...string[]];
  /** Most bytes that were in use at once. */
  readonly peakBytes: () => number;
  /** Waits until the last process in it has ended. */
  readonly remove: () => Promise<void>;
};

const ENDING_MS = 10_000;

const ROOT = '/sys/fs/cgroup';
const FILES = existsSync(join(ROOT, 'cgroup.controllers'))
  ? { folder: ROOT, limit: 'memory.max', peak: 'memory.peak' }
  : { folder: join(ROOT, 'memory'), limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes' };

/** Null where this machine lets nobody, or only root, make one. */
export const createMemoryCage = (limitBytes: number): MemoryCage | null => {
  const path = join(FILES.folder, `recourse-${process.pid}`);
  if (!canMake(path, limitBytes)) return null;
  return {
    wrap: (command) => ['sh', '-c', 'echo $$ > "$0" && exec "$@"', join(path, 'cgroup.procs'), ...command],
    peakBytes: () => Number(readFileSync(join(path, FILES.peak), 'utf8')),
    remove: async () => {
      const endsAt = performance.now() + ENDING_MS;
      for (;;) {
        const members = readFileSync(join(path, 'cgroup.procs'), 'utf8').trim();
        // Tool hosts end a moment after their service.
        if (members === '' || performance.now() > endsAt) return rmdirSync(path);
        await wait(100);
      }
    },
  };
};

const REFUSED = ['EACCES', 'EPERM', 'EROFS', 'ENOENT'];

const canMake = (path: string, limitBytes: number): boolean => {
  try {
    mkdirSync(path);
    writeFileSync(join(path, FILES.limit), String(limitBytes));
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && REFUSED.includes(String(error.code))) return false;
    throw error;
  }
};
