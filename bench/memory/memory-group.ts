import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A control group (version 1) that bounds the memory of what joins it, page cache and kernel included. */
export type MemoryGroup = {
  /** Write a process id here to join. */
  readonly membersFile: string;
  /** Once its members have ended. */
  readonly remove: () => void;
};

const ROOT = '/sys/fs/cgroup/memory';

/** Needs root. Swap stays as the machine has it. */
export const createMemoryGroup = (megabytes: number): MemoryGroup => {
  const directory = join(ROOT, `recourse-bench-${process.pid}`);
  mkdirSync(directory);
  writeFileSync(join(directory, 'memory.limit_in_bytes'), String(megabytes * 1024 * 1024));
  return { membersFile: join(directory, 'cgroup.procs'), remove: () => rmdirSync(directory) };
};
