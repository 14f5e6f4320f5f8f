import { closeSync, openSync, readdirSync, readFileSync, readSync, statfsSync } from 'node:fs';
import { SHM_BYTES, TMP_BYTES } from './sandbox-words.ts';

/** What a sandbox uses now, its first process not counted. */
export type SandboxUsage = {
  /** Processes and their threads. Counting ends a little above the limit it was given. */
  readonly tasks: number;
  /** Memory of all processes, in bytes: their own pages and shared memory, not the files of programs and libraries. */
  readonly memoryBytes: number;
  /** Files in /tmp and /dev/shm; each takes memory of the kernel's, an empty one too. */
  readonly memoryFiles: number;
};

type ProcessUsage = { readonly threads: number; readonly residentBytes: number };

/** Reads /proc: at most as many processes as `maxTasks` and one more. What has ended meanwhile counts nothing. */
export const readSandboxUsage = (
  firstPid: number,
  limits: { readonly maxTasks: number; readonly memoryBytes: number },
): SandboxUsage => {
  const most = limits.maxTasks + 1;
  const pids = [...readChildren(firstPid, 1, most)];
  let tasks = 0;
  let residentBytes = 0;
  // Of too many nobody asks how large they are: while a fork bomb grows each look takes time that it uses.
  for (let at = 0; at < pids.length && pids.length < most && tasks < most; at += 1) {
    const pid = pids[at] ?? 0;
    const { threads, residentBytes: resident } = readProcess(pid);
    tasks += threads;
    residentBytes += resident;
    if (threads > 0) pids.push(...readChildren(pid, threads, most - pids.length));
  }
  if (pids.length >= most || tasks >= most) return { tasks: most, memoryBytes: 0, memoryFiles: 0 };
  return {
    tasks,
    // Pages that processes share after a fork were counted for each: only above the limit the dearer look is needed.
    memoryBytes: residentBytes <= limits.memoryBytes ? residentBytes : readSharedOut(pids, residentBytes),
    memoryFiles: countFiles(firstPid, '/tmp', TMP_BYTES) + countFiles(firstPid, '/dev/shm', SHM_BYTES),
  };
};

const readChildren = (pid: number, threads: number, most: number): readonly number[] => {
  const tasks = threads === 1 ? [String(pid)] : (attempt(() => readdirSync(`/proc/${pid}/task`)) ?? []);
  return tasks.flatMap((task) => readNumbers(`/proc/${pid}/task/${task}/children`, most));
};

// The kernel walks this list anew for each page of it, and forks wait meanwhile: only so much as is needed is read.
const LONGEST_NUMBER = 8;

const readNumbers = (path: string, most: number): readonly number[] => {
  const file = attempt(() => openSync(path, 'r'));
  if (file === null) return [];
  const bytes = Buffer.alloc(most * LONGEST_NUMBER);
  const length = attempt(() => readSync(file, bytes)) ?? 0;
  attempt(() => closeSync(file));
  const numbers = bytes.toString('latin1', 0, length).split(' ').map(Number);
  return numbers.filter((number) => number > 0).slice(0, most);
};

const readProcess = (pid: number): ProcessUsage => {
  const status = attempt(() => readFileSync(`/proc/${pid}/status`, 'latin1'));
  if (status === null) return { threads: 0, residentBytes: 0 };
  const residentBytes = sumKilobytes(status, /^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm);
  return { threads: Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1] ?? 1), residentBytes };
};

/** Each page divided by those that share it; the plain sum where the system does not say. */
const readSharedOut = (pids: readonly number[], residentBytes: number): number => {
  const shares = pids.map((pid) => attempt(() => readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')));
  const told = shares.filter((text) => text !== null);
  if (told.length === 0) return residentBytes;
  return told.reduce((sum, text) => sum + sumKilobytes(text, /^Pss_(?:Anon|Shmem):\s+(\d+) kB$/gm), 0);
};

const sumKilobytes = (text: string, pattern: RegExp): number =>
  [...text.matchAll(pattern)].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);

/** Of a file system of ours, known by its size: before the sandbox is complete the machine's own is in its place. */
const countFiles = (pid: number, path: string, bytes: number): number => {
  const stats = attempt(() => statfsSync(`/proc/${pid}/root${path}`));
  return stats === null || stats.blocks * stats.bsize !== bytes ? 0 : stats.files - stats.ffree;
};

const attempt = <Result>(step: () => Result): Result | null => {
  try {
    return step();
  } catch (_gone) {
    return null;
  }
};
