import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

// What the system may refuse: a process that has just ended is no error here, and one that cannot be started is an answer.

/** Starts a process; null where the system gives none. */
export const startProcess = (command: string, words: readonly string[], options: SpawnOptions): ChildProcess | null => {
  const child = attempt(() => spawn(command, words, options));
  // Without a listener a process that cannot be started would end the service.
  child?.on('error', () => undefined);
  return child?.pid === undefined ? null : child;
};

/** SIGKILL, to a process or (with a negative number) to a process group. */
export const endProcess = (pid: number): void => void attempt(() => process.kill(pid, 'SIGKILL'));

// The kernel's page size on both architectures that Node is pinned for.
const PAGE_BYTES = 4096;

/** Memory of a process that is in RAM, what it maps included, in bytes; 0 where there is no such process. */
export const readResidentBytes = (pid: number): number => {
  const fields = attempt(() => readFileSync(`/proc/${pid}/statm`, 'latin1'))?.split(' ') ?? [];
  return Number(fields[1] ?? 0) * PAGE_BYTES;
};

// The service must answer while its tools compute.
const NICENESS = 5;
// When memory is short the kernel should end a host, not the service: the highest score goes first.
const OOM_SCORE = '800';

/** Puts a process behind the service, in the queue for the processor, and before it in the kernel's choice for memory. */
export const stepBehind = (pid: number): void => {
  attempt(() => setPriority(pid, NICENESS));
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE));
};

const attempt = <Result>(step: () => Result): Result | null => {
  try {
    return step();
  } catch (_refused) {
    return null;
  }
};
