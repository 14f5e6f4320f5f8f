import { statfsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedStore } from 'recourse-server/memory/bounded-store';
import {
  type Decide,
  FEW_KNOWN,
  type Kind,
  type RecordStore,
  type Records,
  toHeapBytes,
  type UpdateTimeout,
} from 'recourse-server/store/record-store';
import type { StoreFill } from 'recourse-server/store/store-observer';
import { closeSqlite, openSqlite, readSize, type SqliteFile, SqliteInUseError, writeCopy } from './sqlite-file.ts';
import { ENDS_AGAIN_MS, type Found, NOT_FOUND, SqliteRecord } from './sqlite-record.ts';
import { SqliteTables } from './sqlite-tables.ts';

type Options = SqliteFile & {
  /** Bytes of the heap for states of all kinds that were read or written lately. */
  readonly cacheBytes: number;
  readonly now: () => number;
  /** Called for each commit that failed: what was decided since the last one is not kept. */
  readonly onFailed: (error: unknown) => void;
};

// A restart may overlap: the process that ends has its grace, and then releases the file.
const IN_USE_MS = 30_000;
const TRY_AGAIN_MS = 100;

/** A store whose file another process may still have: waits for it, and calls `onInUse` once with the words for people. */
export const waitForSqliteRecordStore = async (
  options: Options & { readonly onInUse: (problem: string) => void; readonly inUseMs?: number },
): Promise<SqliteRecordStore> => {
  const { onInUse, inUseMs = IN_USE_MS } = options;
  const until = performance.now() + inUseMs;
  let isReported = false;
  for (;;) {
    try {
      return new SqliteRecordStore(options);
    } catch (error) {
      if (!(error instanceof SqliteInUseError) || performance.now() >= until) throw error;
      if (!isReported) onInUse(error.message);
      isReported = true;
      await sleep(TRY_AGAIN_MS);
    }
  }
};

// What no update waits for goes with a commit that one waits for. Without one it is in the file so much later.
const LATER_MS = 5;

/**
 * Records in one file of this machine, states in memory before it. A decision runs at once; where an update waits, what it changed
 * is written with all others of the same turn of the event loop, and answered then. No other process may have the file.
 *
 * | state   | updates                    | becomes                                                             |
 * |---------|----------------------------|---------------------------------------------------------------------|
 * | clean   | decide                     | dirty; awaited if it waits                                          |
 * | dirty   | decide                     | clean after 5 ms: all are committed; awaited by one that waits       |
 * | awaited | decide                     | clean at the end of the turn: all are committed and answered         |
 * | failed  | -                          | clean at once: all that waited reject, states are read anew          |
 */
export class SqliteRecordStore implements RecordStore {
  readonly now: () => number;
  readonly #options: Options;
  readonly #db: DatabaseSync;
  readonly #tables: SqliteTables;
  readonly #opened: { readonly forget: () => void }[] = [];
  readonly #dirty = new Map<string, Pick<SqliteRecord<unknown, unknown>, 'writeTo'>>();
  readonly #deleted = new Set<string>();
  /** The next commit, where an update waits for it. */
  #awaited: PromiseWithResolvers<void> | null = null;
  #isLater = false;

  constructor(options: Options) {
    this.#options = options;
    this.now = options.now;
    this.#db = openSqlite(options);
    this.#tables = new SqliteTables(this.#db);
  }

  readonly open = <State, Saved>(kind: Kind<State, Saved>): Records<State> => {
    const cacheBytes = this.#options.cacheBytes * (kind.knownPart ?? FEW_KNOWN);
    const records = new SqliteRecords(kind, this, cacheBytes);
    this.#opened.push(records);
    return records;
  };

  isDirty(key: string): boolean {
    return this.#dirty.has(key);
  }

  find(key: string): Found {
    const place = this.#place(key);
    if (place === null) return NOT_FOUND;
    if (place.ends > this.now()) return { ...place, fields: this.#tables.fields(place.id) };
    // Nothing of it may be left where the key's next record begins.
    this.delete(key);
    return NOT_FOUND;
  }

  elements(key: string, count: number): readonly string[] {
    const place = this.#place(key);
    return place === null ? [] : this.#tables.elements(place.id, count);
  }

  /** The keys of all records of a kind, by its name. */
  readonly keys = (kind: string): readonly string[] => {
    const suffix = `:${kind}`;
    const keys = this.#tables.keys(this.now());
    return keys.filter((key) => key.endsWith(suffix)).map((key) => key.slice(0, -suffix.length));
  };

  /** The record goes with the next commit, at most a few milliseconds later. */
  touch(record: Pick<SqliteRecord<unknown, unknown>, 'key' | 'writeTo'>): void {
    this.#dirty.set(record.key, record);
    if (this.#awaited !== null || this.#isLater) return;
    this.#isLater = true;
    setTimeout(() => {
      this.#isLater = false;
      if (this.#dirty.size > 0) this.#flush();
    }, LATER_MS).unref();
  }

  delete(key: string): void {
    this.#dirty.delete(key);
    this.#deleted.add(key);
  }

  /** Resolves when all that has changed so far is committed, at the end of this turn of the event loop. */
  committed(): Promise<void> {
    if (this.#awaited === null) {
      this.#awaited = Promise.withResolvers();
      setImmediate(() => this.#flush());
    }
    return this.#awaited.promise;
  }

  /** How full it is: it may grow as long as its disk has room. Counted without its log, which is emptied again and again. */
  readonly look = (): StoreFill => {
    const { used, size } = readSize(this.#db);
    const { bavail, bsize } = statfsSync(this.#options.path);
    return { used, max: size + bavail * bsize, servers: 1, policy: null };
  };

  /** Copies the store, as it is now, into a new file that its owner alone may read. Nothing else runs meanwhile. */
  readonly backup = (path: string): void => {
    this.#flush();
    writeCopy(this.#db, path);
  };

  /** Commits what waits, and releases the file. */
  readonly close = (): void => {
    this.#flush();
    if (this.#db.isOpen) closeSqlite(this.#db, this.#options.path);
  };

  // What waits to be written is newer than what is in the file.
  #place(key: string): ReturnType<SqliteTables['find']> {
    if (this.#dirty.has(key) || this.#deleted.has(key)) this.#flush();
    return this.#tables.find(key);
  }

  #flush(): void {
    const awaited = this.#awaited;
    this.#awaited = null;
    if (!this.#db.isOpen || (awaited === null && this.#dirty.size === 0 && this.#deleted.size === 0)) return;
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      for (const key of this.#deleted) this.#delete(key);
      for (const record of this.#dirty.values()) record.writeTo(this.#tables);
      // What is in memory as long as it lives may end so much later than the file says.
      this.#tables.sweep(this.now() - ENDS_AGAIN_MS);
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#fail(error, awaited);
    } finally {
      this.#deleted.clear();
      this.#dirty.clear();
    }
    awaited?.resolve();
  }

  #delete(key: string): void {
    const place = this.#tables.find(key);
    if (place !== null) this.#tables.delete(place.id);
  }

  // Memory is ahead of the file now: nothing that was decided may be answered, nor be built upon.
  #fail(error: unknown, awaited: PromiseWithResolvers<void> | null): void {
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
    this.#options.onFailed(error);
    for (const records of this.#opened) records.forget();
    awaited?.reject(error);
  }
}

class SqliteRecords<State, Saved> implements Records<State> {
  readonly #kind: Kind<State, Saved>;
  readonly #store: SqliteRecordStore;
  readonly #cache: BoundedStore<SqliteRecord<State, Saved>>;

  constructor(kind: Kind<State, Saved>, store: SqliteRecordStore, limitBytes: number) {
    this.#kind = kind;
    this.#store = store;
    const ttlMs = typeof kind.ttlMs === 'number' ? kind.ttlMs : undefined;
    this.#cache = new BoundedStore<SqliteRecord<State, Saved>>({ limitBytes, ttlMs, now: store.now });
  }

  update<Result>(
    key: string,
    decide: Decide<State, Result>,
    timeout: UpdateTimeout = 'short',
  ): Result | Promise<Result> {
    const store = this.#store;
    const now = store.now();
    const record = this.#cache.get(key, now) ?? this.#load(key);
    const result = record.decide(decide, now);
    if (record.ttlMs === 0) this.#cache.delete(key);
    else this.#cache.weigh(key, toHeapBytes(this.#kind, record.state), record.ttlMs);
    const isAwaited = timeout === 'claim' ? store.isDirty(record.key) : timeout !== 'short';
    store.touch(record);
    return isAwaited ? store.committed().then(() => result) : result;
  }

  // Not of memory, which may be ahead of the file.
  seen(key: string): State | null {
    const { fields } = this.#store.find(this.#toKey(key));
    return fields.size === 0 ? null : this.#kind.decode(fields);
  }

  read<Result>(key: string, look: Decide<State, Result>): Result | null {
    const cached = this.#cache.peek(key);
    const state = cached === undefined ? this.seen(key) : cached.state;
    return state === null || this.#kind.isEmpty(state) ? null : look(state, this.#store.now());
  }

  list(key: string, count: number): readonly string[] {
    return count === 0 ? [] : this.#store.elements(this.#toKey(key), count);
  }

  delete(key: string): Promise<void> {
    this.#cache.delete(key);
    this.#store.delete(this.#toKey(key));
    return this.#store.committed();
  }

  /** Called where states in memory may be ahead of the file. */
  forget(): void {
    this.#cache.clear();
  }

  #load(key: string): SqliteRecord<State, Saved> {
    const record = new SqliteRecord(this.#kind, this.#toKey(key), this.#store.find(this.#toKey(key)));
    this.#cache.set(key, record, toHeapBytes(this.#kind, record.state));
    return record;
  }

  #toKey(key: string): string {
    return `${key}:${this.#kind.name}`;
  }
}
