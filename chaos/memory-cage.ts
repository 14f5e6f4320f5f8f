import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A control group whose processes together get no more memory than it says: beyond it the kernel kills one of them. */
export type MemoryCage = {
  /** Words of a command that runs `command` in it. */
  readonly wrap: (command: readonly string[]) => readonly [string, ...string[]];
  /** Most bytes that were in use at once. */
  readonly peakBytes: () => number;
  /** After the last process in it has ended. */
  readonly remove: () => void;
};

const ROOT = '/sys/fs/cgroup';
const FILES = existsSync(join(ROOT, 'cgroup.controllers'))
  ? { folder: ROOT, limit: 'memory.max', peak: 'memory.peak' }
  : { folder: join(ROOT, 'memory'), limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes' };

/** Needs root, and control groups of version 1 or 2 that can be written. */
export const createMemoryCage = (limitBytes: number): MemoryCage => {
  const path = join(FILES.folder, `recourse-${process.pid}`);
  mkdirSync(path);
  writeFileSync(join(path, FILES.limit), String(limitBytes));
  return {
    wrap: (command) => ['sh', '-c', 'echo $$ > "$0" && exec "$@"', join(path, 'cgroup.procs'), ...command],
    peakBytes: () => Number(readFileSync(join(path, FILES.peak), 'utf8')),
    remove: () => rmdirSync(path),
  };
};
