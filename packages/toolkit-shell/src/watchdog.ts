import { closeSync, openSync, readdirSync, readFileSync, readSync, statfsSync } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import type { MemoryEnd } from './command-cgroups.ts';
import { SHM_BYTES, TMP_BYTES } from './sandbox-words.ts';

/**
 * Locks on files that a command may hold at once: 400 kB of the kernel's memory, which no control group counts. Programs
 * have some tens; of a higher limit more pages would have to be read to see who is above it.
 */
export const MAX_FILE_LOCKS = 2_000;

// The kernel gives whole lines, a page at a time, and walks all locks of the machine for each page: nobody reads to the end.
const PAGE_BYTES = 4_096;
const MOST_PAGES = 100;
// Only locks that belong to a process: what belongs to an open file (OFDLCK) has the process -1 in every namespace, whoever
// took it. The system call filter refuses those to a command, and processes that share their files and are no threads: a
// lock would be shown no more when the one that took it has ended.
const OWN_LOCK = /^\d+: ((?:POSIX|FLOCK) +\S+ +\S+ +\d+ .*)/gm;

/**
 * Counts the locks on files in a sandbox, to a little more than the limit; 0 where that cannot be told. Never rejects.
 * Not synchronous: the kernel lets whoever reads this wait, some 6 ms as a rule.
 */
const countFileLocks = async (firstPid: number): Promise<number> => {
  const root = `/proc/${firstPid}/root/proc`;
  // Before the sandbox is complete the machine's own /proc is there, with the locks of all.
  if (await isOwnNamespace(root)) return 0;
  const file = await open(`${root}/locks`).catch(() => null);
  if (file === null) return 0;
  return countLocksIn(file)
    .catch(() => 0)
    .finally(() => file.close().catch(() => undefined));
};

/**
 * Counts the locks in a file as /proc/locks is. Locks that another command takes meanwhile stand in front of those that were read: the
 * next page has some of these again. A range that a process has locked counts once; it may hold a whole file (FLOCK) several times.
 */
export const countLocksIn = async (file: FileHandle): Promise<number> => {
  const page = Buffer.alloc(PAGE_BYTES);
  const ranges = new Set<string>();
  let wholeFiles = 0;
  for (let pages = 0; pages < MOST_PAGES && ranges.size + wholeFiles <= MAX_FILE_LOCKS; pages += 1) {
    const { bytesRead } = await file.read(page, 0, PAGE_BYTES, null);
    if (bytesRead === 0) break;
    for (const [, lock = ''] of page.toString('latin1', 0, bytesRead).matchAll(OWN_LOCK)) {
      if (lock.startsWith('POSIX')) ranges.add(lock);
      else wholeFiles += 1;
    }
  }
  return ranges.size + wholeFiles;
};

/** In the /proc of a namespace that the reader is not in, this link leads nowhere. Source: proc(5). */
const isOwnNamespace = (root: string): Promise<boolean> =>
  readlink(`${root}/self`).then(
    () => true,
    () => false,
  );

/** Reads /proc: at most as many processes as `maxTasks` and one more. What has ended meanwhile counts nothing. */
const readSandboxUsage = (firstPid: number, limits: { readonly maxTasks: number; readonly memoryBytes: number }) => {
  const most = limits.maxTasks + 1;
  const pids = [...readChildren(firstPid, 1, most)];
  let tasks = 0;
  let residentBytes = 0;
  let kernelBytes = countNetlink(firstPid);
  // Of too many the size is of no interest: while a fork bomb grows each look takes time that it uses.
  for (let at = 0; at < pids.length && pids.length < most && tasks < most; at += 1) {
    const pid = pids[at] ?? 0;
    const process = readProcess(pid);
    tasks += process.threads;
    residentBytes += process.residentBytes;
    kernelBytes += process.tableBytes;
    if (process.threads > 0) pids.push(...readChildren(pid, process.threads, most - pids.length));
  }
  if (pids.length >= most || tasks >= most) return { tasks: most, memoryBytes: 0, memoryFiles: 0 };
  // Pages that processes share after a fork were counted for each: only above the limit the dearer look is needed.
  const isOver = kernelBytes + residentBytes > limits.memoryBytes;
  return {
    /** Processes and their threads. Counting ends a little above the limit. */
    tasks,
    /** Their own pages, shared memory and page tables, not the files of programs; and what waits in netlink sockets. */
    memoryBytes: kernelBytes + (isOver ? readSharedOut(pids) : residentBytes),
    /** Each takes memory of the kernel's, an empty one too. */
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

const readProcess = (pid: number) => {
  const status = readText(`/proc/${pid}/status`);
  const threads = status === '' ? 0 : Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1] ?? 1);
  // Of a process whose first thread has ended the others have the memory.
  const text = threads > 1 && /^State:\s+Z/m.test(status) ? readThreads(pid) : status;
  return {
    threads,
    residentBytes: sumKilobytes(text, /^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm),
    tableBytes: sumKilobytes(text, /^VmPTE:\s+(\d+) kB$/gm),
  };
};

/** Of the first of its threads that has memory: they all have the same. */
const readThreads = (pid: number): string =>
  (attempt(() => readdirSync(`/proc/${pid}/task`)) ?? [])
    .map((thread) => readText(`/proc/${pid}/task/${thread}/status`))
    .find((status) => status.includes('RssAnon')) ?? '';

/** Each page divided by those that share it; not divided where the system does not say. */
const readSharedOut = (pids: readonly number[]): number => {
  const until = performance.now() + LONGEST_LOOK_MS;
  let bytes = 0;
  for (const pid of pids) {
    // The kernel walks all pages of a process for this. What is left out counts nothing: better than to kill wrongly.
    if (performance.now() > until) break;
    const text = readText(`/proc/${pid}/smaps_rollup`);
    // It has ended, or its first thread has.
    bytes += text === '' ? readProcess(pid).residentBytes : sumKilobytes(text, /^Pss_(?:Anon|Shmem):\s+(\d+) kB$/gm);
  }
  return bytes;
};

const sumKilobytes = (text: string, pattern: RegExp): number =>
  [...text.matchAll(pattern)].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);

/** What nobody has read from netlink sockets: no control group counts it. The fifth field of each line, in bytes. */
const countNetlink = (pid: number): number => {
  const lines = readText(`/proc/${pid}/net/netlink`).matchAll(/^(?:\S+ +){4}(\d+) /gm);
  return [...lines].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
};

/** Of a file system of ours, known by its size: before the sandbox is complete the machine's own is in its place. */
const countFiles = (pid: number, path: string, bytes: number): number => {
  const stats = attempt(() => statfsSync(`/proc/${pid}/root${path}`));
  return stats === null || stats.blocks * stats.bsize !== bytes ? 0 : stats.files - stats.ffree;
};

/** Empty where there is no such file any more. */
const readText = (path: string): string => attempt(() => readFileSync(path, 'latin1')) ?? '';

const attempt = <Result>(step: () => Result): Result | null => {
  try {
    return step();
  } catch (_gone) {
    return null;
  }
};

/** A limit on all that a command starts: the kernel does not hold it for us, or does not end all of the command. */
export type WatchedLimit = 'processes' | 'files in memory' | 'file locks' | MemoryEnd;

type WatchedSandbox = {
  readonly firstPid: number;
  /** Why the kernel ended processes of it; null while it has ended none. */
  readonly findMemoryEnd: () => MemoryEnd | null;
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
export const createWatchdog = ({
  maxProcesses,
  memoryBytes,
}: {
  readonly maxProcesses: number;
  readonly memoryBytes: number;
}) => {
  const watched = new Map<WatchedSandbox, (limit: WatchedLimit) => void>();

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

  const look = async (): Promise<void> => {
    for (const sandbox of [...watched.keys()]) {
      const over = findOver(sandbox);
      if (over !== null) end(sandbox, over);
    }
  };

  const lookAtLocks = async (): Promise<void> => {
    for (const sandbox of [...watched.keys()]) {
      const locks = watched.has(sandbox) ? await countFileLocks(sandbox.firstPid) : 0;
      if (locks > MAX_FILE_LOCKS) end(sandbox, 'file locks');
    }
  };

  /** Looks again and again while something is watched; `decideWaitMs` gets how long the last look took. */
  const createLoop = (step: () => Promise<void>, decideWaitMs: (tookMs: number) => number) => {
    let isScheduled = false;
    const run = async (): Promise<void> => {
      const began = performance.now();
      await step();
      isScheduled = false;
      schedule(performance.now() - began);
    };
    const schedule = (tookMs: number): void => {
      if (isScheduled || watched.size === 0) return;
      isScheduled = true;
      setTimeout(() => void run(), decideWaitMs(tookMs)).unref();
    };
    return schedule;
  };

  const scheduleLook = createLoop(look, (tookMs) =>
    Math.min(Math.max(LOOK_EVERY_MS, tookMs * MOST_OF_TIME), LOOK_AT_LEAST_EVERY_MS),
  );
  const scheduleLocks = createLoop(lookAtLocks, () => LOOK_AT_LOCKS_EVERY_MS);

  return {
    /** `onOver` is called once. Returns the end of watching. */
    watch: (sandbox: WatchedSandbox, onOver: (limit: WatchedLimit) => void): (() => void) => {
      watched.set(sandbox, onOver);
      scheduleLook(0);
      scheduleLocks(0);
      return () => void watched.delete(sandbox);
    },
  };
};
