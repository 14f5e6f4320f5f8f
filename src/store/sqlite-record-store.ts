import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedStore } from '../memory/bounded-store.ts';
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
import { closeSqlite, openSqlite, type SqliteFile, SqliteInUseError, writeCopy, writePage } from './sqlite-file.ts';
import { type Dirty, SqliteRecord, type Write } from './sqlite-record.ts';

export type SqliteOptions = SqliteFile & {
  /** Bytes of the heap for states that were read or written lately. */
  readonly cacheBytes: number;
  readonly now: () => number;
  /** Called for each commit that failed: what was decided since the last one is not kept. */
  readonly onFailed: (error: unknown) => void;
};

export type SqliteRecordStore = RecordStore & {
  /** The keys of all records of a kind, by its name. */
  readonly keys: (kind: string) => readonly string[];
  /** Copies the store, as it is now, into a new file that its owner alone may read. Nothing else runs meanwhile. */
  readonly backup: (path: string) => void;
  /** Writes to the file; rejects where that fails. */
  readonly check: () => Promise<void>;
  /** Commits what waits, and lets go of the file. */
  readonly close: () => void;
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
    check: async () => writer.check(),
    close: () => writer.close(),
  };
};

// A restart may overlap: the process that ends has its grace, and then lets go of the file.
const IN_USE_MS = 30_000;
const TRY_AGAIN_MS = 100;

/** The same, where another process may still have the file: waits for it, and calls `onInUse` once with the words for people. */
export const waitForSqliteRecordStore = async (
  options: SqliteOptions & { readonly onInUse: (problem: string) => void; readonly inUseMs?: number },
): Promise<SqliteRecordStore> => {
  const { onInUse, inUseMs = IN_USE_MS } = options;
  const until = performance.now() + inUseMs;
  let isSaid = false;
  for (;;) {
    try {
      return createSqliteRecordStore(options);
    } catch (error) {
      if (!(error instanceof SqliteInUseError) || performance.now() >= until) throw error;
      if (!isSaid) onInUse(error.message);
      isSaid = true;
      await sleep(TRY_AGAIN_MS);
    }
  }
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
    writeCopy(this.#db, path);
  }

  check(): void {
    this.flush();
    writePage(this.#db);
  }

  close(): void {
    this.flush();
    if (this.#db.isOpen) closeSqlite(this.#db, this.#options.path);
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
      ttlMs: typeof kind.ttlMs === 'number' ? kind.ttlMs : undefined,
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
