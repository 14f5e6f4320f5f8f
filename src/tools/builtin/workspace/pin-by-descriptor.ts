import { closeSync, constants, fstatSync, openSync, readlinkSync } from 'node:fs';
import { isInside } from './by-path.ts';
import { O_PATH } from './descriptor.ts';
import type { Pinned } from './pinned.ts';

// A FIFO or a terminal that has just been put there neither holds the thread nor becomes the service's own.
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Held open: its link leads there and nowhere else, and an entry of it by one name lies in this very directory. */
export const pinByDescriptor = (root: string, path: string, wanted: 'directory' | 'any'): Pinned | undefined => {
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
