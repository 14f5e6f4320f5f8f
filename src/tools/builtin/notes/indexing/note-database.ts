import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { separateWords } from '../note-terms.ts';
import { toStem } from '../parse-note.ts';
import { boundsOf, ListRow, type Span } from './list-span.ts';
import { prepareSearch } from './note-search.ts';

export type StoredNote = {
  readonly id: number;
  readonly path: string;
  readonly title: string;
  readonly body: string;
  readonly modifiedMs: number;
  readonly size: number;
};

const NameRow = z.object({ path: z.string(), title: z.string() });

export type NameRow = z.output<typeof NameRow>;

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
