import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

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

/** SIGKILL to a process that leads a group, to the group, and to all its descendants, wherever they have gone. */
export const endFamily = (pid: number): void => {
  // It must not start another one while they are counted. Once it has ended nobody knows any more whose they were.
  attempt(() => process.kill(pid, 'SIGSTOP'));
  const descendants = findDescendants(pid);
  endProcess(-pid);
  for (const descendant of descendants) endProcess(descendant);
};

// More than any tool needs. The look is synchronous, and what lies beyond is found by the host's mark.
const MAX_DESCENDANTS = 500;

const findDescendants = (pid: number): readonly number[] => {
  const found: number[] = [];
  for (let next: number | undefined = pid; next !== undefined; next = found[found.indexOf(next) + 1]) {
    if (found.length >= MAX_DESCENDANTS) break;
    found.push(...readAllChildren(next));
  }
  return found;
};

const readAllChildren = (pid: number): readonly number[] =>
  (attempt(() => readdirSync(`/proc/${pid}/task`)) ?? []).flatMap((thread) => readChildren(pid, thread));

const readChildren = (pid: number, thread: string): readonly number[] =>
  (attempt(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')) ?? '')
    .split(' ')
    .filter((text) => /^\d+$/.test(text))
    .map(Number);

// The kernel's page size on both architectures that Node is pinned for.
const PAGE_BYTES = 4096;

/** Memory of a process that is in RAM, what it maps included, in bytes; 0 where there is no such process. */
export const readResidentBytes = (pid: number): number => {
  const fields = attempt(() => readFileSync(`/proc/${pid}/statm`, 'latin1'))?.split(' ') ?? [];
  return Number(fields[1] ?? 0) * PAGE_BYTES;
};

/** How long a process has waited for a processor since it started, in milliseconds; 0 where the system does not say. */
export const readWaitedMs = (pid: number): number => {
  const fields = attempt(() => readFileSync(`/proc/${pid}/schedstat`, 'latin1'))?.split(' ') ?? [];
  return Number(fields[1] ?? 0) / 1_000_000;
};

// The service must answer while its tools compute.
const NICER = 5;
const NICEST = 19;
// When memory is short the kernel should end a host, not the service: the highest score goes first.
const OOM_SCORE = '800';

/** Puts a process behind the service, in the queue for the processor, and before it in the kernel's choice for memory. */
export const stepBehind = (pid: number): void => {
  attempt(() => setPriority(pid, Math.min(NICEST, getPriority() + NICER)));
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE));
};

const attempt = <Result>(step: () => Result): Result | null => {
  try {
    return step();
  } catch (_refused) {
    return null;
  }
};
