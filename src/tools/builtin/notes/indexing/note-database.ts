import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { MARKS } from '../marks.ts';
import type { SearchExpression } from '../search-expression.ts';
import { toStem } from './parse-note.ts';

export type StoredNote = {
  readonly id: number;
  readonly path: string;
  readonly title: string;
  readonly body: string;
  readonly modifiedMs: number;
  readonly size: number;
};

export type Span = {
  /** Below which folder, as a plain path; `.` for all. */
  readonly folder: string;
  readonly offset: number;
  readonly limit: number;
};

const ListRow = z.object({ path: z.string(), title: z.string(), modifiedMs: z.number(), size: z.number() });
const SearchRow = ListRow.extend({ snippet: z.string() });
const NameRow = z.object({ path: z.string(), title: z.string() });

export type ListRow = z.output<typeof ListRow>;
export type SearchRow = z.output<typeof SearchRow>;
export type NameRow = z.output<typeof NameRow>;

// In memory alone, scratch space too: nothing is left behind, and nothing has to be writable.
const SCHEMA = `
  PRAGMA temp_store = MEMORY;
  CREATE TABLE notes (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stem TEXT NOT NULL, title TEXT NOT NULL,
    modified REAL NOT NULL, size INTEGER NOT NULL);
  CREATE INDEX by_change ON notes (modified DESC, path);
  CREATE VIRTUAL TABLE words USING fts5(title, path, body, tokenize = 'unicode61 remove_diacritics 2');
  INSERT INTO words (words, rank) VALUES ('rank', 'bm25(10.0, 4.0, 1.0)');`;

// CROSS JOIN: the index of words leads, whatever SQLite thinks of the bounds. Ordered by FTS5 itself, so that snippets
// are made for the rows of the page alone.
const SEARCH = `
  SELECT n.path, n.title, n.modified AS modifiedMs, n.size,
    snippet(words, 2, '${MARKS.open}', '${MARKS.close}', '…', 32) AS snippet
  FROM words CROSS JOIN notes n ON n.id = words.rowid
  WHERE words MATCH ? AND n.path > ? AND n.path < ? ORDER BY rank LIMIT ? OFFSET ?`;

const HAS_MATCH = `
  SELECT 1 FROM words CROSS JOIN notes n ON n.id = words.rowid
  WHERE words MATCH ? AND n.path > ? AND n.path < ? LIMIT 1`;

const LIST = `
  SELECT path, title, modified AS modifiedMs, size FROM notes WHERE path > ? AND path < ?
  ORDER BY modified DESC, path LIMIT ? OFFSET ?`;

export type NoteDatabase = ReturnType<typeof openNoteDatabase>;

/** Notes in memory, with an index of their words. Everything here is synchronous: it belongs into a thread of its own. */
export const openNoteDatabase = () => {
  const database = new DatabaseSync(':memory:');
  database.exec(SCHEMA);
  const removeWords = database.prepare('DELETE FROM words WHERE rowid = ?');
  const removeNote = database.prepare('DELETE FROM notes WHERE id = ?');
  const addNote = database.prepare('INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?)');
  const addWords = database.prepare('INSERT INTO words (rowid, title, path, body) VALUES (?, ?, ?, ?)');
  const listNotes = database.prepare(LIST);
  const searchNotes = database.prepare(SEARCH);
  const hasMatch = database.prepare(HAS_MATCH);
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
      addWords.run(id, title, path, body);
    },
    begin: () => database.exec('BEGIN'),
    commit: () => database.exec('COMMIT'),
    /** The latest changed first. */
    list: ({ folder, offset, limit }: Span): readonly ListRow[] =>
      ListRow.array().parse(listNotes.all(...boundsOf(folder), limit, offset)),
    /** The best first: notes with all words, or, where no note has them all, with some. */
    search: ({ all, any }: SearchExpression, { folder, offset, limit }: Span) => {
      const bounds = boundsOf(folder);
      const matched = all !== null && hasMatch.get(all, ...bounds) !== undefined ? 'all' : 'any';
      const rows = searchNotes.all(matched === 'any' ? any : (all ?? any), ...bounds, limit, offset);
      return { matched, rows: SearchRow.array().parse(rows) } as const;
    },
    /** Notes with exactly this file name (without ending) or title, written in small letters. */
    findSame: (name: string, most: number): readonly NameRow[] => NameRow.array().parse(sameName.all(name, name, most)),
    findLatest: (most: number): readonly NameRow[] => NameRow.array().parse(latestNames.all(most)),
    close: () => database.close(),
  };
};

// '0' follows '/': all that begins with the folder and a slash. Paths compare by their bytes.
const boundsOf = (folder: string): readonly [string, string] =>
  folder === '.' ? ['', '\u{10FFFF}'] : [`${folder}/`, `${folder}0`];
