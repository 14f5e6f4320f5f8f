import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import {
  endOf,
  isInside,
  isSameFile,
  isUnchanged,
  lookAlong,
  proveOpened,
  READ_NO_LINKS,
  type Trail,
  wayTo,
} from './by-path.ts';
import { unlessRefused } from './file-errors.ts';
import { O_PATH, type Workspace } from './workspace.ts';

/** Something below the root, so that nothing put under its name meanwhile is taken for it. */
export type Pinned = Disposable & {
  /** Leads here: opens a directory to read its names. */
  readonly link: string;
  readonly stats: Stats;
  /** Opens it to read, a regular file; throws the system's error. */
  readonly open: () => number;
  /** Opens this entry of it, a directory, to read; no symbolic link. */
  readonly openEntry: (name: string) => number;
  /** Whether it lies where it did: what was read of a directory by its link counts only then. */
  readonly isSame: () => boolean;
};

/** The beginning of a pinned regular file, at most `length` bytes; undefined where it cannot be read. */
export const readBeginning = (pinned: Pinned, length: number): Buffer | undefined =>
  unlessRefused(() => {
    const descriptor = pinned.open();
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

// Synchronous, unlike `withPlace`: a thread of its own may wait, and ten thousand files a scan would keep the thread
// pool busy that the whole service shares.
/**
 * What lies under `path`; undefined where nothing can be opened, or where it lies outside the root. A `directory` is
 * never reached by a symbolic link: a walk cannot go in circles then.
 */
export const pin = ({ root, access }: Workspace, path: string, wanted: 'directory' | 'any'): Pinned | undefined =>
  unlessRefused(() => (access === 'descriptors' ? pinByDescriptor : pinByPath)(root, path, wanted));

// A FIFO or a terminal that has just been put there neither holds the thread nor becomes the service's own.
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Held open: its link leads there and nowhere else, and an entry of it by one name lies in this very directory. */
const pinByDescriptor = (root: string, path: string, wanted: 'directory' | 'any'): Pinned | undefined => {
  const flags = wanted === 'directory' ? O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW : O_PATH;
  const descriptor = openSync(path === '.' ? root : `${root}/${path}`, flags);
  const link = `/proc/self/fd/${descriptor}`;
  const pinned: Pinned = {
    link,
    stats: fstatSync(descriptor),
    // The link itself leads to what is pinned, so it is followed.
    open: () => openSync(link, READ),
    openEntry: (name) => openSync(`${link}/${name}`, READ | constants.O_NOFOLLOW),
    isSame: () => true,
    [Symbol.dispose]: () => closeSync(descriptor),
  };
  if (isInside(root, readlinkSync(link))) return pinned;
  pinned[Symbol.dispose]();
  return undefined;
};

/** Found by its real path, which is looked at again behind each file that is opened (see withPlaceByPath in place.ts). */
const pinByPath = (root: string, path: string, wanted: 'directory' | 'any'): Pinned | undefined => {
  const named = path === '.' ? root : `${root}/${path}`;
  const link = realpathSync.native(named);
  const trail = isInside(root, link) ? lookAlong(root, link) : undefined;
  const stats = trail && endOf(trail);
  if (trail === undefined || stats === undefined) return undefined;
  // The path as it was written may lead through links, or be spelled in other letters; its end is no link.
  if (wanted === 'directory' && !(stats.isDirectory() && isSameFile(lstatSync(named), stats))) return undefined;
  // Without a file itself, whose device and inode are compared with what was opened.
  const way = wayTo(trail);
  return {
    link,
    stats,
    open: () => openProved(link, { way, expected: stats }),
    openEntry: (name) => openProved(`${link}/${name}`, { way: trail }),
    isSame: () => isUnchanged(trail),
    [Symbol.dispose]: () => undefined,
  };
};

const openProved = (path: string, proof: { readonly way: Trail; readonly expected?: Stats }): number => {
  const descriptor = openSync(path, READ_NO_LINKS);
  try {
    proveOpened(descriptor, { at: path, ...proof });
    return descriptor;
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  }
};
