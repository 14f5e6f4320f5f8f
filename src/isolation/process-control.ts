import { type ChildProcess, execFile, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
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
export const endFamily = (pid: number, findDescendants: (pid: number) => readonly number[]): void => {
  // It must not start another one while they are counted. Once it has ended nobody knows any more whose they were.
  attempt(() => process.kill(pid, 'SIGSTOP'));
  const descendants = findDescendants(pid);
  endProcess(-pid);
  for (const descendant of descendants) endProcess(descendant);
};

// A machine that is so busy gets no answer, and the next look is a second later.
const PROGRAM_MS = 2000;
const MOST_OUTPUT_BYTES = 16_777_216;
const PROGRAM_OPTIONS = {
  env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
  timeout: PROGRAM_MS,
  maxBuffer: MOST_OUTPUT_BYTES,
};

/** What a small program of the system writes; empty where it fails. The whole service waits for it. */
export const readProgramSync = (command: string, words: readonly string[]): string => {
  const { status, stdout } = spawnSync(command, words, { ...PROGRAM_OPTIONS, encoding: 'latin1' });
  return status === 0 ? stdout : '';
};

/** The same without waiting. Never rejects. */
export const readProgram = (command: string, words: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    execFile(command, words, { ...PROGRAM_OPTIONS, encoding: 'latin1' }, (error, stdout) =>
      resolve(error === null ? stdout : ''),
    );
  });

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

/** What `step` gives; null where the system refuses. */
export const attempt = <Result>(step: () => Result): Result | null => {
  try {
    return step();
  } catch (_refused) {
    return null;
  }
};
