import { type FileHandle, open, readlink } from 'node:fs/promises';

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
const OWN_LOCK = /^\d+: (?:POSIX|FLOCK) +\S+ +\S+ +\d+ /gm;

/**
 * Counts the locks on files in a sandbox, to a little more than the limit; 0 where that cannot be told. Never rejects.
 * Not synchronous: the kernel lets whoever reads this wait, some 6 ms as a rule.
 */
export const countFileLocks = async (firstPid: number): Promise<number> => {
  const root = `/proc/${firstPid}/root/proc`;
  // Before the sandbox is complete the machine's own /proc is there, with the locks of all.
  if (await isOwnNamespace(root)) return 0;
  const file = await open(`${root}/locks`).catch(() => null);
  if (file === null) return 0;
  return countIn(file)
    .catch(() => 0)
    .finally(() => file.close().catch(() => undefined));
};

const countIn = async (file: FileHandle): Promise<number> => {
  const page = Buffer.alloc(PAGE_BYTES);
  let locks = 0;
  for (let pages = 0; pages < MOST_PAGES && locks <= MAX_FILE_LOCKS; pages += 1) {
    const { bytesRead } = await file.read(page, 0, PAGE_BYTES, null);
    if (bytesRead === 0) break;
    locks += page.toString('latin1', 0, bytesRead).match(OWN_LOCK)?.length ?? 0;
  }
  return locks;
};

/** In the /proc of a namespace that the reader is not in, this link leads nowhere. Source: proc(5). */
const isOwnNamespace = (root: string): Promise<boolean> =>
  readlink(`${root}/self`).then(
    () => true,
    () => false,
  );
