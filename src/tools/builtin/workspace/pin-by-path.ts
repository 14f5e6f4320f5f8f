import { closeSync, fstatSync, lstatSync, openSync, realpathSync, type Stats } from 'node:fs';
import { endOf, isInside, isSameFile, isSameTrail, lookAlongSync, READ_NO_LINKS } from './by-path.ts';
import type { Pinned } from './pinned.ts';

/** Found by its real path, which is looked at again behind each file that is opened (see place-by-path.ts). */
export const pinByPath = (root: string, path: string, wanted: 'directory' | 'any'): Pinned | undefined => {
  const named = path === '.' ? root : `${root}/${path}`;
  const link = realpathSync.native(named);
  const trail = isInside(root, link) ? lookAlongSync(root, link) : undefined;
  const stats = trail && endOf(trail);
  if (trail === undefined || stats === undefined) return undefined;
  if (wanted === 'directory' && (link !== named || !stats.isDirectory())) return undefined;
  const isSame = (): boolean => isSameTrail(trail, lookAlongSync(root, link));
  return {
    link,
    stats,
    open: () => openProved(link, () => stats, isSame),
    openEntry: (name) => openProved(`${link}/${name}`, lstatSync, isSame),
    isSame,
    [Symbol.dispose]: () => undefined,
  };
};

const openProved = (path: string, look: (path: string) => Stats, isSame: () => boolean): number => {
  const descriptor = openSync(path, READ_NO_LINKS);
  if (isSameFile(fstatSync(descriptor), look(path)) && isSame()) return descriptor;
  closeSync(descriptor);
  throw Object.assign(new Error('Something else lies there now.'), { code: 'ESTALE' });
};
