import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { separateWords, type Term, toStem } from '../note-text.ts';
import type { SearchExpression } from '../search-expression.ts';

type Span = {
  /** Below which folder, as a plain path; `.` for all. */
  readonly folder: string;
  readonly offset: number;
  readonly limit: number;
};

/** A note in a list, as the database has it. */
export const ListRow = z.object({ path: z.string(), title: z.string(), modifiedMs: z.number(), size: z.number() });
export type ListRow = z.output<typeof ListRow>;

/** What the paths in a folder lie between. '0' follows '/': all that begins with the folder and a slash, as bytes compare. */
const boundsOf = (folder: string): readonly [string, string] =>
  folder === '.' ? ['', '\u{10FFFF}'] : [`${folder}/`, `${folder}0`];

/** What most notes match, in FTS5's words. */
type CommonSearch = {
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
const prepareCommonSearch = (database: DatabaseSync) => {
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

const CountRow = z.object({ count: z.int() });

// CROSS JOIN: the index of words leads, whatever SQLite thinks of the bounds.
const SEARCH = `
  SELECT n.path, n.title, n.modified AS modifiedMs, n.size
  FROM words CROSS JOIN notes n ON n.id = words.rowid
  WHERE words MATCH ? AND n.path > ? AND n.path < ? ORDER BY rank LIMIT ? OFFSET ?`;

const COUNT_UP_TO = 'SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)';

// To weigh a match, all its places in the text are read: 25 ms where ten thousand notes match. A word in more than half
// of the notes tells nothing, FTS5 weighs it next to nothing there. Fewer notes than these are weighed, whatever matches.
const MIN_COMMON = 2500;

const HAS_MATCH = `
  SELECT 1 FROM words CROSS JOIN notes n ON n.id = words.rowid
  WHERE words MATCH ? AND n.path > ? AND n.path < ? LIMIT 1`;

/** The best first: notes with all words, or, where no note has them all, with some. */
const prepareSearch = (database: DatabaseSync) => {
  const searchNotes = database.prepare(SEARCH);
  const searchCommon = prepareCommonSearch(database);
  const countUpTo = database.prepare(COUNT_UP_TO);
  const countNotes = database.prepare('SELECT count(*) AS count FROM notes');
  const hasMatch = database.prepare(HAS_MATCH);
  const createIsCommon = () => {
    const most = Math.max(MIN_COMMON, CountRow.parse(countNotes.get()).count / 2);
    const known = new Map<string, boolean>();
    return (match: string): boolean => {
      const isCommon = known.get(match) ?? CountRow.parse(countUpTo.get(match, Math.floor(most) + 1)).count > most;
      known.set(match, isCommon);
      return isCommon;
    };
  };
  const findRows = (match: string, { terms, needsAll, hasPrefix }: Sought, span: Span): readonly unknown[] => {
    const isCommon = createIsCommon();
    if (!isCommon(match)) return searchNotes.all(match, ...boundsOf(span.folder), span.limit, span.offset);
    const telling = selectTelling(terms, isCommon);
    // One term alone, or one of several: whoever has what tells has what is looked for.
    const isEnough = !needsAll || terms.length === 1;
    const told = isEnough ? telling : `(${telling}) AND (${match})`;
    return searchCommon({ match, telling, told, hasPrefix }, span);
  };
  return ({ terms, wantsAny }: SearchExpression, span: Span) => {
    const matches = terms.map(toMatch);
    const all = matches.join(' AND ');
    const needsAll = !wantsAny && hasMatch.get(all, ...boundsOf(span.folder)) !== undefined;
    const sought = { terms: matches, needsAll, hasPrefix: terms.some(({ isPrefix }) => isPrefix) };
    const rows = findRows(needsAll ? all : matches.join(' OR '), sought, span);
    return { matched: needsAll ? 'all' : 'any', rows: ListRow.array().parse(rows) } as const;
  };
};

type Sought = { readonly terms: readonly string[]; readonly needsAll: boolean; readonly hasPrefix: boolean };

/** As FTS5 writes it: nothing between quotation marks is an operator. https://sqlite.org/fts5.html#full_text_query_syntax */
const toMatch = ({ text, isPrefix }: Term): string => `"${separateWords(text)}"${isPrefix ? ' *' : ''}`;

/** What tells one note from another: words that are not common, wherever they stand, and common ones in a name. */
const selectTelling = (matches: readonly string[], isCommon: (match: string) => boolean): string => {
  const common = new Set(matches.filter(isCommon));
  const named = common.size === 0 ? [] : [`{title path} : (${[...common].join(' OR ')})`];
  return [...matches.filter((match) => !common.has(match)), ...named].join(' OR ');
};

type StoredNote = {
  readonly id: number;
  readonly path: string;
  readonly title: string;
  readonly body: string;
  readonly modifiedMs: number;
  readonly size: number;
};

const NameRow = z.object({ path: z.string(), title: z.string() });

type NameRow = z.output<typeof NameRow>;

// In memory alone, scratch space too: nothing is left behind, and nothing has to be writable. Of the texts the words are
// kept and not the texts, which would double it: snippets are made from the files.
const SCHEMA = `
  PRAGMA temp_store = MEMORY;
  CREATE TABLE notes (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stem TEXT NOT NULL, title TEXT NOT NULL,
    modified REAL NOT NULL, size INTEGER NOT NULL);
  CREATE INDEX by_change ON notes (modified DESC, path);
  CREATE VIRTUAL TABLE words USING fts5(title, path, body, content = '', contentless_delete = 1,
    tokenize = 'unicode61 remove_diacritics 2');
  INSERT INTO words (words, rank) VALUES ('rank', 'bm25(10.0, 4.0, 1.0)');`;

const LIST = `
  SELECT path, title, modified AS modifiedMs, size FROM notes WHERE path > ? AND path < ?
  ORDER BY modified DESC, path LIMIT ? OFFSET ?`;

export type NoteDatabase = ReturnType<typeof openNoteDatabase>;

/** Notes in memory, with an index of their words. Everything here is synchronous: it belongs into a thread of its own. */
export const openNoteDatabase = () => {
  const database = new DatabaseSync(':memory:');
  database.exec(SCHEMA);
  const prepareWrite = (sql: string) => {
    const statement = database.prepare(sql);
    // FTS5 leaves a last rowid of 63 bits behind, and `run` throws where a number cannot hold it.
    statement.setReadBigInts(true);
    return statement;
  };
  const removeWords = prepareWrite('DELETE FROM words WHERE rowid = ?');
  const removeNote = prepareWrite('DELETE FROM notes WHERE id = ?');
  const addNote = prepareWrite('INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?)');
  const addWords = prepareWrite('INSERT INTO words (rowid, title, path, body) VALUES (?, ?, ?, ?)');
  const listNotes = database.prepare(LIST);
  const sameName = database.prepare(
    'SELECT path, title FROM notes WHERE stem = ? OR lower(title) = ? ORDER BY path LIMIT ?',
  );
  const latestNames = database.prepare('SELECT path, title FROM notes ORDER BY modified DESC, path LIMIT ?');
  const remove = (id: number): void => {
    removeWords.run(id);
    removeNote.run(id);
  };
  return {
    remove,
    /** Puts a note in the place of the one with this id. */
    put: ({ id, path, title, body, modifiedMs, size }: StoredNote): void => {
      remove(id);
      addNote.run(id, path, toStem(path).toLowerCase(), title, modifiedMs, size);
      addWords.run(id, separateWords(title), separateWords(path), separateWords(body));
    },
    begin: () => database.exec('BEGIN'),
    commit: () => database.exec('COMMIT'),
    /** The latest changed first. */
    list: ({ folder, offset, limit }: Span): readonly ListRow[] =>
      ListRow.array().parse(listNotes.all(...boundsOf(folder), limit, offset)),
    search: prepareSearch(database),
    /** Notes with exactly this file name (without ending) or title, written in small letters. */
    findSame: (name: string, most: number): readonly NameRow[] => NameRow.array().parse(sameName.all(name, name, most)),
    findLatest: (most: number): readonly NameRow[] => NameRow.array().parse(latestNames.all(most)),
    close: () => database.close(),
  };
};
