import { closeSync, openSync, readdirSync, readFileSync, readSync, statfsSync } from 'node:fs';
import { SHM_BYTES, TMP_BYTES } from './sandbox-words.ts';

/** What a sandbox uses now, its first process not counted. */
export type SandboxUsage = {
  /** Processes and their threads. Counting ends a little above the limit it was given. */
  readonly tasks: number;
  /**
   * Memory of all processes, in bytes: their own pages, shared memory and page tables, not the files of programs and
   * libraries; and what waits in netlink sockets.
   */
  readonly memoryBytes: number;
  /** Files in /tmp and /dev/shm; each takes memory of the kernel's, an empty one too. */
  readonly memoryFiles: number;
};

type ProcessUsage = {
  readonly pid: number;
  readonly threads: number;
  readonly residentBytes: number;
  readonly tableBytes: number;
};

/** Reads /proc: at most as many processes as `maxTasks` and one more. What has ended meanwhile counts nothing. */
export const readSandboxUsage = (
  firstPid: number,
  limits: { readonly maxTasks: number; readonly memoryBytes: number },
): SandboxUsage => {
  const most = limits.maxTasks + 1;
  const pids = [...readChildren(firstPid, 1, most)];
  let tasks = 0;
  const processes: ProcessUsage[] = [];
  // Of too many nobody asks how large they are: while a fork bomb grows each look takes time that it uses.
  for (let at = 0; at < pids.length && pids.length < most && tasks < most; at += 1) {
    const pid = pids[at] ?? 0;
    const process = readProcess(pid);
    const { threads } = process;
    processes.push(process);
    tasks += threads;
    if (threads > 0) pids.push(...readChildren(pid, threads, most - pids.length));
  }
  if (pids.length >= most || tasks >= most) return { tasks: most, memoryBytes: 0, memoryFiles: 0 };
  const tableBytes = sumOf(processes.map((process) => process.tableBytes));
  const kernelBytes = tableBytes + countNetlink(firstPid);
  const plainBytes = kernelBytes + sumOf(processes.map((process) => process.residentBytes));
  return {
    tasks,
    // Pages that processes share after a fork were counted for each: only above the limit the dearer look is needed.
    memoryBytes: plainBytes <= limits.memoryBytes ? plainBytes : kernelBytes + readSharedOut(processes),
    memoryFiles: countFiles(firstPid, '/tmp', TMP_BYTES) + countFiles(firstPid, '/dev/shm', SHM_BYTES),
  };
};

const readChildren = (pid: number, threads: number, most: number): readonly number[] => {
  const tasks = threads === 1 ? [String(pid)] : (attempt(() => readdirSync(`/proc/${pid}/task`)) ?? []);
  return tasks.flatMap((task) => readNumbers(`/proc/${pid}/task/${task}/children`, most));
};

// The kernel walks this list anew for each page of it, and forks wait meanwhile: only so much as is needed is read.
const LONGEST_NUMBER = 8;
const LONGEST_LOOK_MS = 50;

const readNumbers = (path: string, most: number): readonly number[] => {
  const file = attempt(() => openSync(path, 'r'));
  if (file === null) return [];
  const bytes = Buffer.alloc(most * LONGEST_NUMBER);
  let length = 0;
  // The kernel gives a page at a time.
  for (let read = 1; read > 0 && length < bytes.length; length += read)
    read = attempt(() => readSync(file, bytes, length, bytes.length - length, null)) ?? 0;
  attempt(() => closeSync(file));
  const numbers = bytes.toString('latin1', 0, length).split(' ').map(Number);
  return numbers.filter((number) => number > 0).slice(0, most);
};

const readProcess = (pid: number): ProcessUsage => {
  const status = attempt(() => readFileSync(`/proc/${pid}/status`, 'latin1'));
  if (status === null) return { pid, threads: 0, residentBytes: 0, tableBytes: 0 };
  const threads = Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1] ?? 1);
  // Of a process whose first thread has ended the others have the memory.
  const told = threads > 1 && /^State:\s+Z/m.test(status) ? readThreads(pid) : status;
  return {
    ...{ pid, threads },
    residentBytes: sumKilobytes(told, /^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm),
    tableBytes: sumKilobytes(told, /^VmPTE:\s+(\d+) kB$/gm),
  };
};

/** Of the first of its threads that has memory: they all have the same. */
const readThreads = (pid: number): string => {
  const threads = attempt(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const read = (thread: string): string =>
    attempt(() => readFileSync(`/proc/${pid}/task/${thread}/status`, 'latin1')) ?? '';
  return threads.map(read).find((status) => status.includes('RssAnon')) ?? '';
};

/** Each page divided by those that share it; not divided where the system does not say. */
const readSharedOut = (processes: readonly ProcessUsage[]): number => {
  const until = performance.now() + LONGEST_LOOK_MS;
  const readShare = ({ pid }: ProcessUsage): number => {
    // The kernel walks all pages of a process for this. What is left out counts nothing: better than to kill wrongly.
    if (performance.now() > until) return 0;
    const text = attempt(() => readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'));
    // It has ended, or its first thread has.
    if (text === null) return readProcess(pid).residentBytes;
    return sumKilobytes(text, /^Pss_(?:Anon|Shmem):\s+(\d+) kB$/gm);
  };
  return sumOf(processes.map(readShare));
};

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

const sumKilobytes = (text: string, pattern: RegExp): number =>
  [...text.matchAll(pattern)].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);

/** What nobody has read from netlink sockets: no control group counts it. The fifth field of each line, in bytes. */
const countNetlink = (pid: number): number => {
  const text = attempt(() => readFileSync(`/proc/${pid}/net/netlink`, 'latin1')) ?? '';
  return sumOf([...text.matchAll(/^(?:\S+ +){4}(\d+) /gm)].map(([, bytes]) => Number(bytes)));
};

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
