import { readlink, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/** How a path lies to a directory: `inside` it, also by a link on the way; `around` it; `apart` from it. */
export type Overlap = 'inside' | 'around' | 'apart';

/** Tells how `path`, which may not exist, lies to the directory; both as the system would find them now. Never rejects. */
export type FindOverlap = (path: string) => Promise<Overlap>;

// As Linux has it (MAXSYMLINKS).
const MAX_LINKS = 40;

/**
 * Compares real paths with that of `directory`, which is read once. A path is inside where any name that is looked up on
 * the way to it is: who may write in a directory may change what a link there leads to, and make what is missing.
 */
export const createFindOverlap = async (directory: string, toReal: ToReal = realpath): Promise<FindOverlap> => {
  const root = await toReal(directory).then(itself, () => resolve(directory));
  return async (path) => {
    const entries = await entriesOnTheWay(resolve(path));
    const last = entries.at(-1) ?? '/';
    // Where the file system takes other spellings of a name (APFS: capitals, composed letters), as it spells it itself.
    const end = await toReal(last).then(itself, () => last);
    if (end === root || [...entries, end].some((entry) => isBelow(entry, root))) return 'inside';
    return isBelow(root, end) ? 'around' : 'apart';
  };
};

/** The path of what is there without links, as the file system spells it. */
type ToReal = (path: string) => Promise<string>;

const itself = (text: string): string => text;

const isBelow = (path: string, directory: string): boolean =>
  path.startsWith(directory === '/' ? directory : `${directory}/`) && path !== directory;

type Walk = { at: string; links: number; readonly steps: string[]; readonly entries: string[] };

/** Every entry that the system looks up on its way to an absolute path, links included: the last is what it leads to. */
const entriesOnTheWay = async (path: string): Promise<readonly string[]> => {
  const walk: Walk = { at: '/', links: 0, steps: path.split('/').reverse(), entries: [] };
  while (walk.steps.length > 0 && walk.links <= MAX_LINKS) await takeStep(walk);
  return [...walk.entries, walk.at];
};

const takeStep = async (walk: Walk): Promise<void> => {
  const step = walk.steps.pop() ?? '';
  if (step === '..') walk.at = dirname(walk.at);
  if (['', '.', '..'].includes(step)) return;
  const entry = join(walk.at, step);
  walk.entries.push(entry);
  // No link, or nothing there, or nothing that may be looked at: then the name is all there is.
  const target = await readlink(entry).then(itself, () => null);
  if (target === null) {
    walk.at = entry;
    return;
  }
  walk.links += 1;
  if (target.startsWith('/')) walk.at = '/';
  walk.steps.push(...target.split('/').reverse());
};
