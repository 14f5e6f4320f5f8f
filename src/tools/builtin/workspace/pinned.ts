import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, type Stats } from 'node:fs';
import { O_PATH } from './descriptor.ts';
import { errorCodeOf } from './file-errors.ts';

/** Something below the root, held open, so that nothing put under its name meanwhile is taken for it. */
export type Pinned = Disposable & {
  /** Leads here and nowhere else; append `/name` to name an entry of a directory. */
  readonly link: string;
  readonly stats: Stats;
};

// Synchronous, unlike `withPlace`: a thread of its own may wait, and ten thousand files a scan would keep the thread
// pool busy that the whole service shares.
/** What lies under `path`; undefined where nothing can be opened, or where it lies outside `root`, a real path. */
export const pin = (root: string, path: string, wanted: 'directory' | 'any'): Pinned | undefined =>
  unlessRefused(() => {
    // A directory is never reached by a symbolic link: a walk cannot go in circles then.
    const flags = wanted === 'directory' ? O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW : O_PATH;
    const descriptor = openSync(path === '.' ? root : `${root}/${path}`, flags);
    const pinned = {
      link: `/proc/self/fd/${descriptor}`,
      stats: fstatSync(descriptor),
      [Symbol.dispose]: () => closeSync(descriptor),
    };
    const realPath = readlinkSync(pinned.link);
    if (realPath === root || realPath.startsWith(`${root}/`)) return pinned;
    pinned[Symbol.dispose]();
    return undefined;
  });

/** The beginning of a pinned regular file, at most `length` bytes; undefined where it cannot be read. */
export const readBeginning = (pinned: Pinned, length: number): Buffer | undefined =>
  unlessRefused(() => {
    const descriptor = openSync(pinned.link, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const buffer = Buffer.allocUnsafe(Math.min(length, pinned.stats.size));
      return buffer.subarray(0, fill(descriptor, buffer));
    } finally {
      closeSync(descriptor);
    }
  });

/** A regular file under one name alone: a second one (hard link) may lie anywhere. */
export const isOwnFile = (stats: Stats): boolean => stats.isFile() && stats.nlink === 1;

/** Reads until `buffer` is full or the file ends; gives the number of bytes. */
export const fill = (descriptor: number, buffer: Uint8Array): number => {
  let filled = 0;
  while (filled < buffer.length) {
    const bytes = readSync(descriptor, buffer, filled, buffer.length - filled, filled);
    if (bytes === 0) break;
    filled += bytes;
  }
  return filled;
};

/** What `step` gives; undefined where the system refuses: files come and go while they are looked at. */
export const unlessRefused = <T>(step: () => T): T | undefined => {
  try {
    return step();
  } catch (thrown) {
    if (errorCodeOf(thrown) !== undefined) return undefined;
    throw thrown;
  }
};
