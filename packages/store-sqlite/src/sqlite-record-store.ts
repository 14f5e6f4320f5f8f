import { statfsSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedStore } from 'recourse-server/memory/bounded-store';
import {
  type Decide,
  FEW_KNOWN,
  type Fields,
  type Kind,
  type ListElement,
  type RecordStore,
  type Records,
  toHeapBytes,
  type UpdateTimeout,
} from 'recourse-server/store/record-store';
import type { StoreFill } from 'recourse-server/store/store-observer';
import { closeSqlite, openSqlite, readSize, type SqliteFile, SqliteInUseError, writeCopy } from './sqlite-file.ts';
import { type Dirty, ENDS_AGAIN_MS, type Found, SqliteRecord } from './sqlite-record.ts';
import { type Place, SqliteTables } from './sqlite-tables.ts';

export type SqliteOptions = SqliteFile & {
  /** Bytes of the heap for states of all kinds that were read or written lately. */
  readonly cacheBytes: number;
  readonly now: () => number;
  /** Called for each commit that failed: what was decided since the last one is not kept. */
  readonly onFailed: (error: unknown) => void;
};

export type SqliteRecordStore = RecordStore & {
  /** The keys of all records of a kind, by its name. */
  readonly keys: (kind: string) => readonly string[];
  /** How full it is: it may grow as long as its disk has room. Counted without its log, which is emptied again and again. */
  readonly look: () => StoreFill;
  /** Copies the store, as it is now, into a new file that its owner alone may read. Nothing else runs meanwhile. */
  readonly backup: (path: string) => void;
  /** Commits what waits, and lets go of the file. */
  readonly close: () => void;
};

/**
 * Records in one file of this machine, states in memory before it. A decision runs at once; where somebody waits, what it changed
 * is written with all others of the same turn of the event loop, and answered then. No other process may have the file.
 */
export const createSqliteRecordStore = (options: SqliteOptions): SqliteRecordStore => {
  const writer = new Writer(openSqlite(options), options);
  return {
    now: options.now,
    open: (kind) => new SqliteRecords(kind, writer, options),
    keys: (kind) => writer.keys(kind),
    look: () => writer.look(),
    backup: (path) => writer.backup(path),
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

// What nobody waits for goes with a commit that somebody waits for. Without one it is in the file so much later.
const LATER_MS = 5;

// For each record that is made two are looked at for their end, and one for each commit: so many at once.
const SWEEP_TIMES = 2;
const SWEEP_RECORDS = 128;

/**
 * | state   | updates                    | becomes                                                             |
 * |---------|----------------------------|---------------------------------------------------------------------|
 * | clean   | decide                     | dirty; awaited if it waits                                          |
 * | dirty   | decide                     | clean after 5 ms: all are committed; awaited by one that waits       |
 * | awaited | decide                     | clean at the end of the turn: all are committed and answered         |
 * | failed  | -                          | clean at once: all that waited reject, states are read anew          |
 */
class Writer {
  readonly #db: DatabaseSync;
  readonly #options: SqliteOptions;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #tables: SqliteTables;
  readonly #forgetters: (() => void)[] = [];
  readonly #dirty = new Map<string, Dirty>();
  readonly #deleted = new Set<string>();
  #waiting: Waiting[] = [];
  #isAwaited = false;
  #isLater = false;
  #unswept = 0;

  constructor(db: DatabaseSync, options: SqliteOptions) {
    this.#db = db;
    this.#options = options;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
    this.#tables = new SqliteTables(db);
  }

  /** Called where states in memory may be ahead of the file. */
  onForget(forget: () => void): void {
    this.#forgetters.push(forget);
  }

  isDirty(key: string): boolean {
    return this.#dirty.has(key);
  }

  read(key: string): Found {
    const place = this.#find(key);
    if (place === null) return NOT_FOUND;
    if (place.ends > this.#options.now()) return { ...place, fields: this.#tables.fields(place.id) };
    // Nothing of it may be left where the key's next record begins.
    this.delete(key);
    return NOT_FOUND;
  }

  list(key: string, count: number): readonly string[] {
    const place = this.#find(key);
    return place === null ? [] : this.#tables.elements(place.id, count);
  }

  keys(kind: string): readonly string[] {
    const suffix = `:${kind}`;
    const keys = this.#tables.keys(this.#options.now());
    return keys.filter((key) => key.endsWith(suffix)).map((key) => key.slice(0, -suffix.length));
  }

  /** The record goes with the next commit, at most a few milliseconds later. */
  touch(record: Dirty): void {
    this.#dirty.set(record.key, record);
    if (this.#isAwaited || this.#isLater) return;
    this.#isLater = true;
    setTimeout(() => {
      this.#isLater = false;
      if (this.#dirty.size > 0) this.flush();
    }, LATER_MS).unref();
  }

  delete(key: string): void {
    this.#dirty.delete(key);
    this.#deleted.add(key);
  }

  /** Resolves when all that has changed so far is committed, at the end of this turn of the event loop. */
  committed(): Promise<void> {
    this.#await();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  flush(): void {
    if (!this.#db.isOpen) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      this.#begin.run();
      for (const key of this.#deleted) this.#delete(key);
      for (const record of this.#dirty.values()) this.#apply(record);
      this.#sweep();
      this.#commit.run();
    } catch (error) {
      this.#fail(error, waiting);
      return;
    } finally {
      this.#deleted.clear();
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

  look(): StoreFill {
    const { used, size } = readSize(this.#db);
    const { bavail, bsize } = statfsSync(this.#options.path);
    return { used, max: size + bavail * bsize, servers: 1, policy: null };
  }

  backup(path: string): void {
    this.flush();
    writeCopy(this.#db, path);
  }

  close(): void {
    this.flush();
    if (this.#db.isOpen) closeSqlite(this.#db, this.#options.path);
  }

  // What waits to be written is newer than what is in the file.
  #find(key: string): Place | null {
    if (this.#dirty.has(key) || this.#deleted.has(key)) this.flush();
    return this.#tables.find(key);
  }

  #apply(record: Dirty): void {
    const tables = this.#tables;
    const write = record.toWrite();
    if (write === null) {
      if (record.id !== 0) tables.delete(record.id);
      return;
    }
    const { set, gone, added, keep, ends } = write;
    const id = this.#place(record, ends);
    for (let at = 0; at + 1 < set.length; at += 2) tables.put(id, set[at] ?? '', set[at + 1] ?? '');
    for (const name of gone) tables.drop(id, name);
    for (const text of added) tables.append(id, text);
    if (keep !== null) tables.trim(id, keep);
  }

  #place(record: Dirty, ends: number | null): number {
    const tables = this.#tables;
    if (record.id === 0) {
      this.#unswept += SWEEP_TIMES;
      record.id = tables.add(record.key, ends ?? 0);
    } else if (ends !== null) tables.touch(record.id, ends);
    return record.id;
  }

  #delete(key: string): void {
    const place = this.#tables.find(key);
    if (place !== null) this.#tables.delete(place.id);
  }

  #sweep(): void {
    this.#unswept += 1;
    if (this.#unswept < SWEEP_RECORDS) return;
    this.#unswept -= SWEEP_RECORDS;
    // What is in memory as long as it lives may end so much later than the file says.
    this.#tables.sweep(SWEEP_RECORDS, this.#options.now() - ENDS_AGAIN_MS);
  }

  // Memory is ahead of the file now: nothing that was decided may be answered, nor be built upon.
  #fail(error: unknown, waiting: readonly Waiting[]): void {
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
    this.#options.onFailed(error);
    for (const forget of this.#forgetters) forget();
    for (const { reject } of waiting) reject(error);
  }
}

const NO_FIELDS: Fields = new Map();
const NOT_FOUND: Found = { id: 0, ends: 0, fields: NO_FIELDS };

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
      limitBytes: cacheBytes * (kind.knownPart ?? FEW_KNOWN),
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
    const isAwaited = timeout === 'claim' ? this.#writer.isDirty(record.key) : timeout !== 'short';
    this.#writer.touch(record);
    if (!isAwaited) return result;
    return this.#writer.committed().then(() => result);
  }

  // Not of memory, which may be ahead of the file.
  seen(key: string): State | null {
    const { fields } = this.#writer.read(this.#toKey(key));
    return fields.size === 0 ? null : this.#kind.decode(fields);
  }

  read<Result>(key: string, look: Decide<State, Result>): Result | null {
    const cached = this.#cache.peek(key);
    if (cached !== undefined) return this.#kind.isEmpty(cached.state) ? null : look(cached.state, this.#now());
    const { fields } = this.#writer.read(this.#toKey(key));
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
