import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Fields } from 'recourse-server/store/record-store';

/** Of the tables. */
export const FORMAT = 2;

/**
 * A commit writes whole pages. Records are numbered as they are made, so that what is written together is together in the file, and
 * what is new on the last pages. The indexes, which a new record or element changes anywhere, are of numbers alone: they are small.
 */
export const TABLES = `
CREATE TABLE record (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, key TEXT NOT NULL, ends INTEGER NOT NULL);
CREATE INDEX record_hash ON record (hash);
CREATE TABLE field (record INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (record, name)) WITHOUT ROWID;
CREATE TABLE element (id INTEGER PRIMARY KEY, record INTEGER NOT NULL, text TEXT NOT NULL);
CREATE INDEX element_record ON element (record);`;

// For each record that is made two are looked at for their end, and one for each commit: so many at once.
const SWEEP_TIMES = 2;
const SWEEP_RECORDS = 128;

/** The statements on the tables. */
export class SqliteTables {
  /** Gets the end of a record, and its id. */
  readonly touch: StatementSync;
  /** Gets the id of a record, and the name of a field. */
  readonly drop: StatementSync;
  /** Removes all elements but the last: gets the id of their record, and how many stay. */
  readonly trim: StatementSync;
  readonly #find: StatementSync;
  readonly #fields: StatementSync;
  readonly #elements: StatementSync;
  readonly #keys: StatementSync;
  readonly #add: StatementSync;
  readonly #put: StatementSync;
  readonly #append: StatementSync;
  readonly #next: StatementSync;
  readonly #expired: StatementSync;
  readonly #deletions: readonly StatementSync[];
  #lastId: number;
  #sweptTo = 0;
  #unswept = 0;

  constructor(db: DatabaseSync) {
    this.#find = db.prepare('SELECT id, ends FROM record WHERE hash = ? AND key = ?');
    this.#fields = db.prepare('SELECT name, value FROM field WHERE record = ?');
    this.#elements = db.prepare('SELECT text FROM element WHERE record = ? ORDER BY id DESC LIMIT ?');
    this.#keys = db.prepare('SELECT key FROM record WHERE ends > ?');
    this.#add = db.prepare('INSERT INTO record VALUES (?, ?, ?, ?)');
    this.touch = db.prepare('UPDATE record SET ends = ? WHERE id = ?');
    this.#put = db.prepare('REPLACE INTO field VALUES (?, ?, ?)');
    this.#append = db.prepare('INSERT INTO element (record, text) VALUES (?, ?)');
    this.drop = db.prepare('DELETE FROM field WHERE record = ? AND name = ?');
    this.trim = db.prepare(
      'DELETE FROM element WHERE record = ?1 AND id <= (SELECT id FROM element WHERE record = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)',
    );
    this.#next = db.prepare(
      'SELECT max(id) AS id, count(*) AS count FROM (SELECT id FROM record WHERE id > ? ORDER BY id LIMIT ?)',
    );
    this.#expired = db.prepare('SELECT id FROM record WHERE id > ? AND id <= ? AND ends <= ?');
    this.#deletions = ['record WHERE id', 'field WHERE record', 'element WHERE record'].map((what) =>
      db.prepare(`DELETE FROM ${what} = ?`),
    );
    this.#lastId = Number(db.prepare('SELECT max(id) AS id FROM record').get()?.['id'] ?? 0);
  }

  /** Where a record is, and when it ends, in Unix milliseconds. */
  find(key: string): { readonly id: number; readonly ends: number } | null {
    const row = this.#find.get(hashKey(key), key);
    return row === undefined ? null : { id: Number(row['id']), ends: Number(row['ends']) };
  }

  fields(id: number): Fields {
    return new Map(this.#fields.all(id).map(({ name, value }) => [String(name), String(value)]));
  }

  /** The last elements, oldest first. */
  elements(id: number, count: number): readonly string[] {
    const rows = this.#elements.all(id, count);
    return rows.map(({ text }) => String(text)).toReversed();
  }

  /** The keys of records that have not ended. */
  keys(now: number): readonly string[] {
    return this.#keys.all(now).map(({ key }) => String(key));
  }

  /** Makes a record and gives its id. */
  add(key: string, ends: number): number {
    this.#unswept += SWEEP_TIMES;
    this.#lastId += 1;
    this.#add.run(this.#lastId, hashKey(key), key, ends);
    return this.#lastId;
  }

  put(id: number, name: string, value: string): void {
    this.#put.run(id, name, value.toWellFormed());
  }

  append(id: number, text: string): void {
    this.#append.run(id, text.toWellFormed());
  }

  delete(id: number): void {
    for (const deletion of this.#deletions) deletion.run(id);
  }

  /** Called in each commit: now and then deletes those of the next records that ended before; after the last record it begins again. */
  sweep(before: number): void {
    this.#unswept += 1;
    if (this.#unswept < SWEEP_RECORDS) return;
    this.#unswept -= SWEEP_RECORDS;
    const next = this.#next.get(this.#sweptTo, SWEEP_RECORDS);
    const to = Number(next?.['id'] ?? 0);
    for (const { id } of this.#expired.all(this.#sweptTo, to, before)) this.delete(Number(id));
    this.#sweptTo = next?.['count'] === SWEEP_RECORDS ? to : 0;
  }
}

// 52 bits. Keys end with a digest, and a record that is found by a hash is compared with the key.
const hashKey = (key: string): number => {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < key.length; at += 1) {
    const code = key.charCodeAt(at);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return (high & 0xfffff) * 2 ** 32 + (low >>> 0);
};
