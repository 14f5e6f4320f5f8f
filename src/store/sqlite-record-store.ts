import { DatabaseSync, type StatementSync } from 'node:sqlite';
import * as z from 'zod';
import { BoundedStore, tenantOfKey } from '../memory/bounded-store.ts';
import {
  type Decide,
  type Fields,
  type Kind,
  type ListElement,
  type RecordStore,
  type Records,
  toHeapBytes,
  type UpdateTimeout,
} from './record-store.ts';
import { type Dirty, SqliteRecord, type Write } from './sqlite-record.ts';

export type SqliteOptions = {
  readonly path: string;
  /** `process`: what was answered survives the death of the process (synchronous=NORMAL). `power`: also a power cut (FULL). */
  readonly durable: 'process' | 'power';
  /** Bytes of the heap for states that were read or written lately. */
  readonly cacheBytes: number;
  readonly now: () => number;
  /** Called for each commit that failed: what was decided since the last one is not kept. */
  readonly onFailed: (error: unknown) => void;
};

export type SqliteRecordStore = RecordStore & {
  /** The keys of all records of a kind, by its name. */
  readonly keys: (kind: string) => readonly string[];
  /** Copies the store, as it is now, into a new file. */
  readonly backup: (path: string) => void;
  /** Commits what waits, and lets go of the file. */
  readonly close: () => void;
};

// "rcrs", so that a database of another program is not taken for one of ours; and the format of the tables.
const [APPLICATION_ID, FORMAT] = [0x72637273, 1] as const;

const TABLES = `
CREATE TABLE record (key TEXT NOT NULL PRIMARY KEY, ends INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX record_ends ON record (ends);
CREATE TABLE field (key TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (key, name)) WITHOUT ROWID;
CREATE TABLE element (id INTEGER PRIMARY KEY, key TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX element_key ON element (key, id);
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${FORMAT};`;

/** The file cannot be used as a store; the message says why and what to do. */
class SqliteStoreError extends Error {}

const Pragma = z.record(z.string(), z.number());
const readPragma = (db: DatabaseSync, name: string): number =>
  Object.values(Pragma.parse(db.prepare(`PRAGMA ${name}`).get()))[0] ?? 0;

const prepareFile = (db: DatabaseSync, path: string): void => {
  const [id, format] = [readPragma(db, 'application_id'), readPragma(db, 'user_version')];
  const isEmpty = db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
  if (isEmpty && id === 0) db.exec(TABLES);
  else if (id !== APPLICATION_ID)
    throw new SqliteStoreError(`${path} is a database of another program. Name another file in STORE.`);
  else if (format !== FORMAT)
    throw new SqliteStoreError(
      `${path} has format ${format}, this version reads ${FORMAT}. Start the version that made it, or name another file.`,
    );
};

/** Opens the file, or makes it. Throws SqliteStoreError where it is not ours, damaged, or another process has it. */
const openSqlite = ({ path, durable }: Pick<SqliteOptions, 'path' | 'durable'>): DatabaseSync => {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path);
    // Before anything is read: the first lock is never given back, and a second process finds it.
    db.exec(
      `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${durable === 'power' ? 'FULL' : 'NORMAL'};`,
    );
    db.exec('BEGIN IMMEDIATE');
    prepareFile(db, path);
    db.exec('COMMIT');
    return db;
  } catch (error) {
    db?.close();
    throw error instanceof SqliteStoreError ? error : new SqliteStoreError(explain(path, error), { cause: error });
  }
};

const explain = (path: string, error: unknown): string => {
  const reason = error instanceof Error ? error.message : String(error);
  if (/is locked|busy/.test(reason)) return `${path} is in use by another process. One process uses a file at a time.`;
  if (/not a database|malformed/.test(reason))
    return `${path} is damaged or no database: ${reason}. Restore a copy, or name another file in STORE.`;
  return `${path} cannot be opened: ${reason}.`;
};

/**
 * Records in one file of this machine, states in memory before it. A decision runs at once; what it changed is written with
 * all others of the same turn of the event loop, and answered then. No other process may have the file.
 */
export const createSqliteRecordStore = (options: SqliteOptions): SqliteRecordStore => {
  const writer = new Writer(openSqlite(options), options);
  return {
    open: (kind) => new SqliteRecords(kind, writer, options),
    keys: (kind) => writer.keys(kind),
    backup: (path) => writer.backup(path),
    close: () => writer.close(),
  };
};

/** An update that waits for its commit. */
type Waiting = { readonly resolve: () => void; readonly reject: (error: unknown) => void };

/** Rows of expired records that one commit removes: a sweep must not keep the event loop. */
const SWEEP_ROWS = 64;

/**
 * | state   | updates                    | becomes                                                             |
 * |---------|----------------------------|---------------------------------------------------------------------|
 * | clean   | decide and wait            | dirty                                                               |
 * | dirty   | decide and wait            | clean at the end of the turn: all are committed and answered         |
 * | failed  | -                          | clean at once: all that waited reject, states are read anew          |
 */
class Writer {
  readonly #db: DatabaseSync;
  readonly #options: SqliteOptions;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #put: StatementSync;
  readonly #drop: StatementSync;
  readonly #touch: StatementSync;
  readonly #append: StatementSync;
  readonly #trim: StatementSync;
  readonly #fields: StatementSync;
  readonly #elements: StatementSync;
  readonly #expired: StatementSync;
  readonly #deletions: readonly StatementSync[];
  readonly #forgetters: (() => void)[] = [];
  readonly #dirty = new Map<string, Dirty>();
  #deleted: string[] = [];
  #waiting: Waiting[] = [];
  #isAwaited = false;

  constructor(db: DatabaseSync, options: SqliteOptions) {
    this.#db = db;
    this.#options = options;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
    this.#put = db.prepare('INSERT INTO field VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value');
    this.#drop = db.prepare('DELETE FROM field WHERE key = ? AND name = ?');
    this.#touch = db.prepare('INSERT INTO record VALUES (?, ?) ON CONFLICT DO UPDATE SET ends = excluded.ends');
    this.#append = db.prepare('INSERT INTO element (key, text) VALUES (?, ?)');
    this.#trim = db.prepare(
      'DELETE FROM element WHERE key = ? AND id <= (SELECT id FROM element WHERE key = ? ORDER BY id DESC LIMIT 1 OFFSET ?)',
    );
    this.#fields = db.prepare('SELECT name, value FROM field JOIN record USING (key) WHERE key = ? AND ends > ?');
    this.#elements = db.prepare('SELECT text FROM element WHERE key = ? ORDER BY id DESC LIMIT ?');
    this.#expired = db.prepare('SELECT key FROM record WHERE ends <= ? LIMIT ?');
    this.#deletions = ['record', 'field', 'element'].map((table) => db.prepare(`DELETE FROM ${table} WHERE key = ?`));
  }

  /** Called where states in memory may be ahead of the file. */
  onForget(forget: () => void): void {
    this.#forgetters.push(forget);
  }

  read(key: string): Fields {
    // What waits to be written is newer than what is in the file.
    if (this.#dirty.has(key)) this.flush();
    const fields = new Map<string, string>();
    for (const { name, value } of this.#fields.all(key, this.#options.now())) fields.set(String(name), String(value));
    return fields;
  }

  list(key: string, count: number): readonly string[] {
    if (this.#dirty.has(key)) this.flush();
    return this.#elements
      .all(key, count)
      .map(({ text }) => String(text))
      .toReversed();
  }

  keys(kind: string): readonly string[] {
    const suffix = `:${kind}`;
    const rows = this.#db.prepare('SELECT key FROM record WHERE ends > ?').all(this.#options.now());
    const keys = rows.map(({ key }) => String(key));
    return keys.filter((key) => key.endsWith(suffix)).map((key) => key.slice(0, -suffix.length));
  }

  /** The record is committed at the end of this turn of the event loop. */
  touch(key: string, record: Dirty): void {
    this.#dirty.set(key, record);
    this.#await();
  }

  delete(key: string): void {
    this.#dirty.delete(key);
    this.#deleted.push(key);
    this.#await();
  }

  /** Resolves when all that has changed so far is committed. */
  committed(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  flush(): void {
    if (!this.#db.isOpen) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      this.#begin.run();
      for (const key of this.#deleted) this.#delete(key);
      for (const record of this.#dirty.values()) this.#apply(record.toWrite());
      this.#sweep();
      this.#commit.run();
    } catch (error) {
      this.#fail(error, waiting);
      return;
    } finally {
      this.#deleted = [];
      this.#dirty.clear();
    }
    for (const { resolve } of waiting) resolve();
  }

  #await(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(() => {
      this.#isAwaited = false;
      this.flush();
    });
  }

  backup(path: string): void {
    this.flush();
    this.#db.prepare('VACUUM INTO ?').run(path);
  }

  close(): void {
    this.flush();
    if (this.#db.isOpen) this.#db.close();
  }

  #apply(write: Write | null): void {
    if (write === null) return;
    const { key, set } = write;
    if (write.isNew) this.#delete(key);
    for (let at = 0; at + 1 < set.length; at += 2)
      this.#put.run(key, set[at] ?? '', (set[at + 1] ?? '').toWellFormed());
    for (const name of write.gone) this.#drop.run(key, name);
    if (write.ends !== null) this.#touch.run(key, write.ends);
    for (const text of write.added) this.#append.run(key, text.toWellFormed());
    if (write.keep !== null) this.#trim.run(key, key, write.keep);
  }

  #delete(key: string): void {
    for (const deletion of this.#deletions) deletion.run(key);
  }

  #sweep(): void {
    for (const { key } of this.#expired.all(this.#options.now(), SWEEP_ROWS)) this.#delete(String(key));
  }

  // Memory is ahead of the file now: nothing that was decided may be answered, nor be built upon.
  #fail(error: unknown, waiting: readonly Waiting[]): void {
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
    this.#options.onFailed(error);
    for (const forget of this.#forgetters) forget();
    for (const { reject } of waiting) reject(error);
  }
}

class SqliteRecords<State, Saved> implements Records<State> {
  readonly #kind: Kind<State, Saved>;
  readonly #writer: Writer;
  readonly #now: () => number;
  readonly #cache: BoundedStore<SqliteRecord<State, Saved>>;

  constructor(kind: Kind<State, Saved>, writer: Writer, { cacheBytes, now }: SqliteOptions) {
    this.#kind = kind;
    this.#writer = writer;
    this.#now = now;
    this.#cache = new BoundedStore<SqliteRecord<State, Saved>>({
      limitBytes: cacheBytes,
      tenantOf: tenantOfKey,
      ttl: typeof kind.ttlMs === 'number' ? { ms: kind.ttlMs, renewed: 'by_get' } : null,
      now,
    });
    writer.onForget(() => this.#cache.clear());
  }

  update<Result>(
    key: string,
    decide: Decide<State, Result>,
    timeout: UpdateTimeout = 'short',
  ): Result | Promise<Result> {
    const record = this.#cache.get(key) ?? this.#load(key);
    const now = this.#now();
    const result = record.decide(decide, now);
    if (record.ttlMs === 0) this.#cache.delete(key);
    else this.#cache.weigh(key, toHeapBytes(this.#kind, record.state), record.ttlMs);
    this.#writer.touch(record.key, record);
    return timeout === 'short' ? result : this.#writer.committed().then(() => result);
  }

  read<Result>(key: string, look: Decide<State, Result>): Result | null {
    const cached = this.#cache.peek(key);
    if (cached !== undefined) return this.#kind.isEmpty(cached.state) ? null : look(cached.state, this.#now());
    const fields = this.#writer.read(this.#toKey(key));
    return fields.size === 0 ? null : look(this.#kind.decode(fields), this.#now());
  }

  list(key: string, count: number): readonly ListElement[] {
    const texts = count === 0 ? [] : this.#writer.list(this.#toKey(key), count);
    return texts.map((text) => ({ bytes: text.length, toText: () => text }));
  }

  delete(key: string): Promise<void> {
    this.#cache.delete(key);
    this.#writer.delete(this.#toKey(key));
    return this.#writer.committed();
  }

  #load(key: string): SqliteRecord<State, Saved> {
    const record = new SqliteRecord(this.#kind, this.#toKey(key), this.#writer.read(this.#toKey(key)));
    this.#cache.set(key, record, toHeapBytes(this.#kind, record.state));
    return record;
  }

  #toKey(key: string): string {
    return `${key}:${this.#kind.name}`;
  }
}
