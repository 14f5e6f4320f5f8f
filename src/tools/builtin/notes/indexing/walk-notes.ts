import { type Dirent, lstatSync, opendirSync, type Stats } from 'node:fs';
import { errorCodeOf, unlessRefused } from '../../workspace/file-errors.ts';
import { pin } from '../../workspace/pin.ts';
import { isOwnFile, type Pinned } from '../../workspace/pinned.ts';
import type { Workspace } from '../../workspace/workspace.ts';
import { isNoteName, isOpenPath } from '../note-names.ts';
import type { Pace } from './pace.ts';

export type FoundNote = {
  /** Relative to the root. */
  readonly path: string;
  readonly stats: Stats;
};

export type WalkLimits = {
  readonly maxNotes: number;
  /** Names looked at, whatever they name. */
  readonly maxEntries: number;
  /** Folders in one another. */
  readonly maxDepth: number;
};

/** Enough for a life of notes; a directory beyond that is no directory of notes. */
export const WALK_LIMITS: WalkLimits = { maxNotes: 50_000, maxEntries: 200_000, maxDepth: 32 };

// Fifty results with such paths stay far below 1 MiB of JSON, where a byte may become six.
const MAX_PATH_BYTES = 1024;

/** The root itself cannot be read. */
export class RootUnreadableError extends Error {
  override readonly name: string = 'RootUnreadableError';
}

/**
 * Tells of every note of `workspace`, the nearer ones first: regular files with one name, and symbolic links to such
 * files inside the root (a ConfigMap is made of them). Passes over folders that are hidden, links, or cannot be read.
 * Gives whether all were told of; those with names that are not UTF-8 cannot be. Throws RootUnreadableError.
 */
export const walkNotes = async (workspace: Workspace, { limits, pace, tell }: WalkOptions): Promise<boolean> => {
  checkRoot(workspace.root);
  const folders: Folder[] = [{ path: '.', depth: 0 }];
  const left = { notes: limits.maxNotes, entries: limits.maxEntries };
  const walk: Walk = { workspace, folders, left, maxDepth: limits.maxDepth, pace, tell };
  let isComplete = true;
  for (const folder of folders) isComplete = (await walkFolder(walk, folder)) && isComplete;
  return isComplete;
};

type WalkOptions = { readonly limits: WalkLimits; readonly pace: Pace; readonly tell: (note: FoundNote) => void };
type Folder = { readonly path: string; readonly depth: number };
type Walk = Pick<WalkOptions, 'pace' | 'tell'> & {
  readonly workspace: Workspace;
  /** Those still to come are added at the end. */
  readonly folders: Folder[];
  readonly left: { notes: number; entries: number };
  readonly maxDepth: number;
};

/** Gives whether it was walked to its end, and nothing in it is too deep. */
const walkFolder = async (walk: Walk, folder: Folder): Promise<boolean> => {
  const { left, pace } = walk;
  using held = pin(walk.workspace, folder.path, 'directory');
  // Gone meanwhile, or with a name that is no UTF-8: Node gives U+FFFD for that.
  if (held === undefined) return !folder.path.includes('\ufffd');
  let isComplete = true;
  for (const entry of entriesOf(held)) {
    if (left.entries === 0 || left.notes === 0) return false;
    left.entries -= 1;
    if (pace.isDue()) await pace.rest();
    if (!visit(walk, { folder, entry })) isComplete = false;
  }
  return isComplete;
};

type Visit = { readonly folder: Folder; readonly entry: Dirent };

/** False where it is a folder too deep, or has a name that cannot be asked for. */
const visit = ({ workspace, folders, left, maxDepth, tell }: Walk, { folder, entry }: Visit): boolean => {
  const path = folder.path === '.' ? entry.name : `${folder.path}/${entry.name}`;
  if (entry.isDirectory()) return addFolder(folders, { path, depth: folder.depth + 1 }, maxDepth);
  const stats = lookAt({ workspace, path, entry });
  if (stats === undefined) return !(isNoteName(entry.name) && entry.name.includes('\ufffd'));
  left.notes -= 1;
  tell({ path, stats });
  return true;
};

const addFolder = (folders: Folder[], folder: Folder, maxDepth: number): boolean => {
  if (!isOpenPath(folder.path)) return true;
  if (folder.depth > maxDepth) return false;
  folders.push(folder);
  return true;
};

type Candidate = { readonly workspace: Workspace; readonly path: string; readonly entry: Dirent };

const checkRoot = (root: string): void => {
  try {
    opendirSync(root).closeSync();
  } catch (thrown) {
    throw new RootUnreadableError(errorCodeOf(thrown) ?? 'unknown', { cause: thrown });
  }
};

/** Streamed: the names of a directory with millions of them never lie in memory together. */
function* entriesOf({ link }: Pinned): Generator<Dirent> {
  const directory = unlessRefused(() => opendirSync(link, { bufferSize: 256 }));
  if (directory === undefined) return;
  try {
    for (;;) {
      const entry = unlessRefused(() => directory.readSync()) ?? null;
      if (entry === null) return;
      yield entry;
    }
  } finally {
    directory.closeSync();
  }
}

const lookAt = ({ workspace, path, entry }: Candidate): Stats | undefined => {
  if (!isNoteName(entry.name) || Buffer.byteLength(path) > MAX_PATH_BYTES) return undefined;
  const stats = entry.isSymbolicLink() ? statInside(workspace, path) : statEntry(workspace.root, path);
  return stats !== undefined && isOwnFile(stats) ? stats : undefined;
};

// By its path, not below the pinned folder: a path through /proc takes twice the time, which is most of a scan. Where
// a folder has just become a link that leads out this looks at a stranger, whose text nobody gets: reading pins.
const statEntry = (root: string, path: string): Stats | undefined =>
  unlessRefused(() => lstatSync(`${root}/${path}`, { throwIfNoEntry: false }));

const statInside = (workspace: Workspace, path: string): Stats | undefined => {
  using held = pin(workspace, path, 'any');
  return held?.stats;
};
