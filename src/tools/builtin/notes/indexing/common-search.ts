import type { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { boundsOf, type Span } from './list-span.ts';

/** What most notes match, in FTS5's words. */
export type CommonSearch = {
  readonly match: string;
  /** What tells one note from another: by this alone they are weighed. */
  readonly telling: string;
  /** Finds the notes that match and have something telling. */
  readonly told: string;
  /** Whether beginnings of words are sought: FTS5 finds all words anew for each note that is tried. */
  readonly hasPrefix: boolean;
};

const LISTED = 'n.path, n.title, n.modified AS modifiedMs, n.size';

// `+`: SQLite would look for `telling` once for each of the rows otherwise.
const TOLD = `
  SELECT ${LISTED} FROM words CROSS JOIN notes n ON n.id = words.rowid
  WHERE words MATCH ? AND +words.rowid IN (SELECT rowid FROM words WHERE words MATCH ?) AND n.path > ? AND n.path < ?
  ORDER BY rank, n.modified DESC, n.path LIMIT ? OFFSET ?`;

const TOLD_PATHS = `
  SELECT n.path FROM words CROSS JOIN notes n ON n.id = words.rowid
  WHERE words MATCH ? AND n.path > ? AND n.path < ?`;

// `+`: not by the index of paths, or all of them would be sorted first.
const LATEST = `
  SELECT n.id, ${LISTED} FROM notes n WHERE +n.path > ? AND +n.path < ? ORDER BY n.modified DESC, n.path LIMIT ?`;

// A number of JavaScript comes as a real, which FTS5 takes for no row at all.
const NOTE_MATCHES = 'SELECT 1 FROM words WHERE words MATCH ? AND rowid = CAST(? AS INTEGER)';

const OTHERS = `
  SELECT ${LISTED} FROM notes n
  WHERE n.id IN (SELECT rowid FROM words WHERE words MATCH ?) AND n.path > ? AND n.path < ?
    AND n.id NOT IN (SELECT rowid FROM words WHERE words MATCH ?)
  ORDER BY n.modified DESC, n.path LIMIT ? OFFSET ?`;

const PathRow = z.object({ path: z.string() });
const LatestRow = PathRow.extend({ id: z.int() });

// One takes some 20 µs where most notes around it match, and milliseconds where none does: FTS5 looks on to the next that
// matches. A page takes some 50 tries; to find all that match a phrase takes some 9 ms. Either way the answer is the same.
const TRIES = { most: 200, mostMs: 6 } as const;

/**
 * Searches for what more than half of the notes have. To weigh a match all its places are read, so only notes with
 * something telling are weighed; the others follow, the latest changed first. Since most notes match, the latest are
 * tried one by one: nearly always the page is full long before all that match would be found.
 */
export const prepareCommonSearch = (database: DatabaseSync) => {
  const toldNotes = database.prepare(TOLD);
  const toldPaths = database.prepare(TOLD_PATHS);
  const latestNotes = database.prepare(LATEST);
  const noteMatches = database.prepare(NOTE_MATCHES);
  const otherNotes = database.prepare(OTHERS);

  const tryLatest = ({ match, folder, isTold }: Others, wanted: number): readonly unknown[] => {
    const startedMs = performance.now();
    const found: unknown[] = [];
    for (const row of latestNotes.iterate(...boundsOf(folder), TRIES.most)) {
      if (found.length === wanted || performance.now() - startedMs > TRIES.mostMs) break;
      const { id, path } = LatestRow.parse(row);
      if (!isTold(path) && noteMatches.get(match, id) !== undefined) found.push(row);
    }
    return found;
  };

  const findOthers = (others: Others, { offset, limit }: Pick<Span, 'offset' | 'limit'>): readonly unknown[] => {
    const { match, told, folder, hasPrefix } = others;
    const wanted = offset + limit;
    const latest = hasPrefix || wanted > TRIES.most ? [] : tryLatest(others, wanted);
    if (latest.length === wanted) return latest.slice(offset);
    return otherNotes.all(match, ...boundsOf(folder), told, limit, offset);
  };

  return (search: CommonSearch, { folder, offset, limit }: Span): readonly unknown[] => {
    const bounds = boundsOf(folder);
    const first = toldNotes.all(search.telling, search.told, ...bounds, limit, offset);
    if (first.length === limit) return first;
    const all = offset === 0 ? first : toldPaths.all(search.told, ...bounds);
    const toldOnes = new Set(all.map((row) => PathRow.parse(row).path));
    const others = { ...search, folder, isTold: (path: string) => toldOnes.has(path) };
    const span = { offset: Math.max(0, offset - toldOnes.size), limit: limit - first.length };
    return [...first, ...findOthers(others, span)];
  };
};

/** Those that match and have nothing telling. */
type Others = CommonSearch & { readonly folder: string; readonly isTold: (path: string) => boolean };
