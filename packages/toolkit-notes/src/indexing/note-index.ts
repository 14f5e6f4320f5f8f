import { type Dirent, lstatSync, opendirSync, type Stats } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import {
  errorCodeOf,
  isOwnFile,
  type Pinned,
  pin,
  readBeginning,
  unlessRefused,
  type Workspace,
} from '@recourse/toolkit-kit/directories';
import type { IndexNews } from '../index-messages.ts';
import { findTitle, isNoteName, isOpenPath, toNoteText } from '../note-text.ts';
import { type NoteDatabase, openNoteDatabase } from './note-database.ts';

type Pace = {
  /** Asked often; true where the work has gone on long enough without a rest. */
  readonly isDue: () => boolean;
  /** Resolves once everything that waited has been answered. */
  readonly rest: () => Promise<void>;
};

// What a search may have to wait for: well below the 20 ms that it should take as a whole.
const SLICE_MS = 3;

// Where searches come without a pause the work would get nothing but its slices, and a scan would take a second: then
// everybody waits for its end. So it goes on for half as long as it has just rested, and gets a third of the time. That has
// no upper limit: on a busy machine a slice of 30 ms costs a search less than the wait of 200 ms for a scan that is late.
const LEAST_SHARE = 0.5;

/** `now` and `letOthers` (resolves when all that waited is done) are for tests. */
export const createPace = (now: () => number = () => performance.now(), letOthers = () => setImmediate()): Pace => {
  let since = now();
  let sliceMs = SLICE_MS;
  return {
    isDue: () => now() - since >= sliceMs,
    rest: async () => {
      const restedFrom = now();
      await letOthers();
      since = now();
      sliceMs = Math.max(SLICE_MS, (since - restedFrom) * LEAST_SHARE);
    },
  };
};

type FoundNote = {
  /** Relative to the root. */
  readonly path: string;
  readonly stats: Stats;
};

type WalkLimits = {
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
    if (!visit(walk, folder, entry)) isComplete = false;
  }
  return isComplete;
};

/** False where it is a folder too deep, or has a name that cannot be asked for. */
const visit = ({ workspace, folders, left, maxDepth, tell }: Walk, folder: Folder, entry: Dirent): boolean => {
  const path = folder.path === '.' ? entry.name : `${folder.path}/${entry.name}`;
  if (entry.isDirectory()) {
    if (!isOpenPath(path)) return true;
    if (folder.depth === maxDepth) return false;
    folders.push({ path, depth: folder.depth + 1 });
    return true;
  }
  const stats = lookAt(workspace, path, entry);
  if (stats === undefined) return !(isNoteName(entry.name) && entry.name.includes('\ufffd'));
  left.notes -= 1;
  tell({ path, stats });
  return true;
};

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

const lookAt = (workspace: Workspace, path: string, entry: Dirent): Stats | undefined => {
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

export type IndexLimits = WalkLimits & {
  /** Of each note so many bytes, from its beginning, are searched. */
  readonly maxNoteBytes: number;
  /** Of all notes together; notes beyond that are found by title and path alone. */
  readonly maxTotalBytes: number;
};

/** Some 230 MB of memory at the very most, in 40 000 notes: the index takes about as many bytes as the text, the paths the rest. */
export const INDEX_LIMITS: IndexLimits = { ...WALK_LIMITS, maxNoteBytes: 262_144, maxTotalBytes: 134_217_728 };

/** Whatever tells one state of a file from another; ctime, too: copies keep mtime. */
type Stamp = Pick<Stats, 'ino' | 'size' | 'mtimeMs' | 'ctimeMs'>;

/** `stamp` is undefined where it has to be read again, whatever it looks like. */
type KnownNote = { readonly id: number; stamp: Stamp | undefined; bytes: number; scan: number };

// What changes again within one tick of the file system's clock (10 ms at most) looks the same: it is read once more.
const SETTLED_AFTER_MS = 100;

/** The index of one root. `update` makes it what the disk holds now; rejects with RootUnreadableError. */
export type NoteIndex = {
  readonly database: NoteDatabase;
  readonly update: () => Promise<void>;
  readonly count: () => number;
  /** Whether it holds every note that the last update came by, and that update came by all. */
  readonly isComplete: () => boolean;
  /** What of a note is searched, as it is on the disk now; empty where it cannot be read. */
  readonly textOf: (path: string) => string;
  readonly close: () => void;
};

export const openNoteIndex = (
  workspace: Workspace,
  {
    limits,
    pace,
    report,
  }: { readonly limits: IndexLimits; readonly pace: Pace; readonly report: (news: IndexNews) => void },
): NoteIndex => {
  const database = openNoteDatabase();
  const known = new Map<string, KnownNote>();
  const state = { scan: 0, lastId: 0, bytes: 0, isComplete: true };

  const put = ({ path }: FoundNote, note: KnownNote): void => {
    state.bytes -= note.bytes;
    note.bytes = 0;
    database.remove(note.id);
    const read = readNote(workspace, path, limits.maxNoteBytes);
    note.stamp = read?.stamp;
    if (read?.text === undefined) return;
    const { text, stats } = read;
    const isTooMuch = state.bytes + text.length > limits.maxTotalBytes;
    if (isTooMuch) report({ kind: 'notice', notice: 'too_much_text', most: limits.maxTotalBytes });
    note.bytes = isTooMuch ? 0 : text.length;
    state.bytes += note.bytes;
    const body = isTooMuch ? '' : text;
    const title = findTitle(path, text);
    database.put({ id: note.id, path, title, body, modifiedMs: stats.mtimeMs, size: stats.size });
  };

  const forget = (path: string, note: KnownNote): void => {
    state.bytes -= note.bytes;
    database.remove(note.id);
    known.delete(path);
  };

  const findChanges = async (): Promise<readonly FoundNote[]> => {
    const changed: FoundNote[] = [];
    const tell = (note: FoundNote): void => {
      const before = known.get(note.path);
      if (before !== undefined) before.scan = state.scan;
      if (before?.stamp === undefined || !isSame(before.stamp, note.stats)) changed.push(note);
    };
    state.isComplete = await walkNotes(workspace, { limits, pace, tell });
    if (!state.isComplete) report({ kind: 'notice', notice: 'too_many_notes', most: limits.maxNotes });
    return changed;
  };

  /** One transaction, as long as the pace allows. */
  const batch = async <T>(work: readonly T[], step: (one: T, at: number) => void): Promise<void> => {
    for (let at = 0; at < work.length; ) {
      database.begin();
      do {
        const one = work[at];
        if (one !== undefined) step(one, at);
        at += 1;
      } while (at < work.length && !pace.isDue());
      database.commit();
      report({ kind: 'progress', done: at, total: work.length });
      await pace.rest();
    }
  };

  const update = async (): Promise<void> => {
    state.scan += 1;
    const changed = await findChanges();
    await batch(notSeenIn(known, state.scan), ([path, note]) => forget(path, note));
    await batch(changed, (note) => {
      const fresh = known.get(note.path) ?? { id: ++state.lastId, stamp: undefined, bytes: 0, scan: state.scan };
      known.set(note.path, fresh);
      put(note, fresh);
    });
  };

  return {
    database,
    update,
    count: () => known.size,
    isComplete: () => state.isComplete,
    textOf: (path) => readNote(workspace, path, limits.maxNoteBytes)?.text ?? '',
    close: database.close,
  };
};

// Without a copy of them all: this is done with each scan.
const notSeenIn = (known: ReadonlyMap<string, KnownNote>, scan: number): readonly (readonly [string, KnownNote])[] => {
  const gone: (readonly [string, KnownNote])[] = [];
  for (const [path, note] of known) if (note.scan !== scan) gone.push([path, note]);
  return gone;
};

// Numbers, field by field: a text to compare would be made for each note in each scan.
const isSame = (one: Stamp, { ino, size, mtimeMs, ctimeMs }: Stamp): boolean =>
  one.ino === ino && one.size === size && one.mtimeMs === mtimeMs && one.ctimeMs === ctimeMs;

// A copy: a whole Stats is four times as large, and kept for each note.
const toStamp = ({ ino, size, mtimeMs, ctimeMs }: Stats): Stamp => ({ ino, size, mtimeMs, ctimeMs });

const readNote = (workspace: Workspace, path: string, maxBytes: number) => {
  using held = pin(workspace, path, 'any');
  if (held === undefined || !isOwnFile(held.stats)) return undefined;
  const bytes = readBeginning(held, maxBytes);
  if (bytes === undefined) return undefined;
  const isSettled = Date.now() - held.stats.ctimeMs > SETTLED_AFTER_MS;
  return { stamp: isSettled ? toStamp(held.stats) : undefined, text: toNoteText(bytes), stats: held.stats };
};

export type KeeperTiming = {
  /** How long ago the scan began that a caller sees, at most. */
  readonly maxAgeMs: number;
  /** From the start of one scan to the next while somebody asks, so that calls find the index fresh and need not wait. */
  readonly intervalMs: number;
  /** Nobody has asked for so long: the next call looks at the disk first, and until then nothing is done at all. */
  readonly idleAfterMs: number;
};

// Below the second that is promised: writing and answering take time, too. A scan that has not ended 900 ms after the one
// before began is waited for, so it has 400 ms: ten times what it takes alone.
const TIMING: KeeperTiming = { maxAgeMs: 900, intervalMs: 500, idleAfterMs: 10_000 };

/**
 * Keeps one index fresh by scanning the directory again and again, while it is used. No inotify: shares and some
 * containers do not tell of changes made elsewhere, and a scan of ten thousand notes takes some 40 ms. What is not
 * asked for is not scanned, so an idle index costs nothing.
 */
export const createIndexKeeper = (
  open: (root: string) => NoteIndex,
  { maxAgeMs, intervalMs, idleAfterMs }: KeeperTiming = TIMING,
) => {
  let index: { readonly root: string; readonly index: NoteIndex } | undefined;
  let scan: { readonly root: string; readonly startedMs: number; readonly done: Promise<void> } | undefined;
  let scannedMs = Number.NEGATIVE_INFINITY;
  let askedMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  const openFor = (root: string): NoteIndex => {
    if (index?.root === root) return index.index;
    index?.index.close();
    scannedMs = Number.NEGATIVE_INFINITY;
    index = { root, index: open(root) };
    return index.index;
  };

  const startScan = (root: string): Promise<void> => {
    clearTimeout(timer);
    const startedMs = performance.now();
    const done = openFor(root)
      .update()
      .then(() => {
        scannedMs = startedMs;
      })
      .finally(() => {
        scan = undefined;
        scheduleNext(root, startedMs);
      });
    scan = { root, startedMs, done };
    return done;
  };

  const scheduleNext = (root: string, startedMs: number): void => {
    const now = performance.now();
    if (now - askedMs > idleAfterMs) return;
    // Never more than half of the time, however large the directory.
    const waitMs = Math.max(intervalMs - (now - startedMs), now - startedMs);
    timer = setTimeout(() => void startScan(root).catch(passOver), waitMs);
  };

  /** The index of this root, showing what the disk held at most a second ago. Rejects with RootUnreadableError. */
  const freshIndex = async (root: string): Promise<NoteIndex> => {
    const oldestMs = performance.now() - maxAgeMs;
    askedMs = performance.now();
    // One scan at a time; one of another root, or one that began too long ago, is waited for and then done again.
    while (index?.root !== root || scannedMs < oldestMs) {
      if (scan === undefined) await startScan(root);
      else await scan.done.catch(ignoreOther(scan.root === root && scan.startedMs >= oldestMs));
    }
    return index.index;
  };

  return { freshIndex };
};

// A root that cannot be read is told to whoever asks; nobody asked for this scan. Anything else ends the thread.
const passOver = (thrown: unknown): void => {
  if (!(thrown instanceof RootUnreadableError)) throw thrown;
};

// The failure of a scan that would not have counted is not the caller's.
const ignoreOther =
  (isOwn: boolean) =>
  (thrown: unknown): void => {
    if (isOwn) throw thrown;
  };
