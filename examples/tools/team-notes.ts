// Tools that keep state, in a SQLite database by Node's own `node:sqlite`. Several processes open the same file: a
// variable of a module would be seen by one of them only, and be gone with it.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { defineTool, empty, ok, RetryableToolError, z } from 'recourse-server';

const PATH = process.env['NOTES_DB'] ?? join(tmpdir(), 'recourse-team-notes.sqlite');
const env = ['NOTES_DB'];

let opened: DatabaseSync | undefined;

/** Opened by the first call and not while the file is loaded: a process that only lists tools needs no database. */
const database = (): DatabaseSync => {
  if (opened !== undefined) return opened;
  // `timeout`: while another process writes, wait instead of failing with "database is locked".
  const fresh = new DatabaseSync(PATH, { timeout: 2_000 });
  // A write-ahead log lets others read during a write, and survives a process that is killed in the middle of one.
  fresh.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS notes (
      id INTEGER PRIMARY KEY, topic TEXT NOT NULL, text TEXT NOT NULL, written_at TEXT NOT NULL
    )`);
  opened = fresh;
  return fresh;
};

const Topic = z.string().trim().min(1).max(100).describe('What the note is about, for example a project.');

export const addNote = defineTool({
  name: 'add_note',
  description: 'Writes down a note that the whole team can find later. Returns its id.',
  effects: 'write', // twice would be two notes
  env,
  input: z.object({ topic: Topic, text: z.string().trim().min(1).max(10_000) }),
  run: ({ topic, text }) => {
    const { lastInsertRowid } = database()
      .prepare('INSERT INTO notes (topic, text, written_at) VALUES (?, ?, ?)')
      .run(topic, text, new Date().toISOString());
    return ok({ id: Number(lastInsertRowid), topic }, `Note ${lastInsertRowid} is written down.`);
  },
});

export const findNotes = defineTool({
  name: 'find_notes',
  description: 'Finds notes by a part of their text or topic, the newest first, at most 20.',
  effects: 'read',
  env,
  input: z.object({ search: z.string().max(200).default('') }),
  run: ({ search }) => {
    // A parameter, never part of the statement: what a model sends is data. instr knows no wildcards.
    const notes = database()
      .prepare(`SELECT id, topic, text, written_at FROM notes
        WHERE instr(lower(topic || char(10) || text), lower(?)) > 0 ORDER BY id DESC LIMIT 20`)
      .all(search);
    return notes.length === 0 ? empty(`No note contains '${search}'.`, { notes }) : { notes };
  },
});

export const deleteNote = defineTool({
  name: 'delete_note',
  description: 'Deletes one note by its id. Call find_notes first.',
  effects: 'idempotent', // gone is gone, however often it is asked for
  env,
  input: z.object({ id: z.int().min(1) }),
  run: ({ id }) => {
    const { changes } = database().prepare('DELETE FROM notes WHERE id = ?').run(id);
    if (changes === 0)
      throw new RetryableToolError(`There is no note ${id}.`, { hint: 'Call find_notes to see which there are.' });
    return ok({ id }, `Note ${id} is deleted.`);
  },
});
