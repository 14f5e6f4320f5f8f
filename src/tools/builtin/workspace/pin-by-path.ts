import { closeSync, fstatSync, lstatSync, openSync, realpathSync, type Stats } from 'node:fs';
import { endOf, isInside, isSameFile, isSameTrail, lookAlongSync, READ_NO_LINKS, toWay } from './by-path.ts';
import type { Pinned } from './pinned.ts';

/** Found by its real path, which is looked at again behind each file that is opened (see place-by-path.ts). */
export const pinByPath = (root: string, path: string, wanted: 'directory' | 'any'): Pinned | undefined => {
  const named = path === '.' ? root : `${root}/${path}`;
  const link = realpathSync.native(named);
  const trail = isInside(root, link) ? lookAlongSync(root, link) : undefined;
  const stats = trail && endOf(trail);
  if (trail === undefined || stats === undefined) return undefined;
  // The path as it was written may lead through links, or be spelled in other letters; its end is no link.
  if (wanted === 'directory' && !(stats.isDirectory() && isSameFile(lstatSync(named), stats))) return undefined;
  const isSame = (): boolean => isSameTrail(trail, lookAlongSync(root, link));
  // Without a file itself, whose device and inode are compared with what was opened.
  const way = toWay(trail);
  const isSameWay = (): boolean => isSameTrail(way, lookAlongSync(root, way.realPath));
  return {
    link,
    stats,
    open: () => openProved(link, { expected: stats, isSameWay }),
    openEntry: (name) => openProved(`${link}/${name}`, { isSameWay: isSame }),
    isSame,
    [Symbol.dispose]: () => undefined,
  };
};

type Proof = {
  /** What was looked at before; left out: nothing was. */
  readonly expected?: Stats;
  readonly isSameWay: () => boolean;
};

const openProved = (path: string, { expected, isSameWay }: Proof): number => {
  const descriptor = openSync(path, READ_NO_LINKS);
  try {
    const opened = fstatSync(descriptor);
    if (isSameFile(opened, lstatSync(path)) && isSameFile(expected ?? opened, opened) && isSameWay()) return descriptor;
    throw Object.assign(new Error('Something else lies there now.'), { code: 'ESTALE' });
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  }
};
