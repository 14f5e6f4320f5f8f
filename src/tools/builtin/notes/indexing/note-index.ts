import type { Stats } from 'node:fs';
import { pin } from '../../workspace/pin.ts';
import { isOwnFile, readBeginning } from '../../workspace/pinned.ts';
import type { Workspace } from '../../workspace/workspace.ts';
import { toNoteText, toTitle } from '../parse-note.ts';
import { type NoteDatabase, openNoteDatabase } from './note-database.ts';
import type { Pace } from './pace.ts';
import { type FoundNote, WALK_LIMITS, type WalkLimits, walkNotes } from './walk-notes.ts';

export type IndexLimits = WalkLimits & {
  /** Of each note so many bytes, from its beginning, are searched. */
  readonly maxNoteBytes: number;
  /** Of all notes together; notes beyond that are found by title and path alone. */
  readonly maxTotalBytes: number;
};

/** Some 230 MB of memory at the very most, in 40 000 notes: the index takes about as many bytes as the text, the paths the rest. */
export const INDEX_LIMITS: IndexLimits = { ...WALK_LIMITS, maxNoteBytes: 262_144, maxTotalBytes: 134_217_728 };

export type IndexObserver = {
  readonly progress: (done: number, total: number) => void;
  readonly notice: (notice: 'too_many_notes' | 'too_much_text', most: number) => void;
};

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
  { limits, pace, observer }: { readonly limits: IndexLimits; readonly pace: Pace; readonly observer: IndexObserver },
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
    if (isTooMuch) observer.notice('too_much_text', limits.maxTotalBytes);
    note.bytes = isTooMuch ? 0 : text.length;
    state.bytes += note.bytes;
    const body = isTooMuch ? '' : text;
    database.put({ id: note.id, path, title: toTitle(path, text), body, modifiedMs: stats.mtimeMs, size: stats.size });
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
    if (!state.isComplete) observer.notice('too_many_notes', limits.maxNotes);
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
      observer.progress(at, work.length);
      await pace.rest();
    }
  };

  const update = async (): Promise<void> => {
    state.scan += 1;
    const changed = await findChanges();
    await batch(notSeenIn(known, state.scan), ([path, note]) => forget(path, note));
    await batch(changed, (note) => {
      const fresh = known.get(note.path) ?? { id: nextId(), stamp: undefined, bytes: 0, scan: state.scan };
      known.set(note.path, fresh);
      put(note, fresh);
    });
  };

  const nextId = (): number => {
    state.lastId += 1;
    return state.lastId;
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
