import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { FORMAT, TABLES } from './sqlite-tables.ts';

export type SqliteFile = {
  readonly path: string;
  /** `process`: what was answered survives the death of the process (synchronous=NORMAL). `power`: also a power cut (FULL). */
  readonly durable: 'process' | 'power';
};

// "rcrs", so that a database of another program is not taken for one of ours.
const APPLICATION_ID = 0x72637273;

// The indexes of half a million records. Of SQLite's own 2 MB a page is read again for each record.
const CACHE_KIB = 16_384;
// SQLite's own 1000 pages are copied after some 400 batches. What is written again until then is copied once.
const CHECKPOINT_PAGES = 4000;

/** The file cannot be used as a store; the message says why and what to do. */
export class SqliteStoreError extends Error {}

/** Another process has the file. */
export class SqliteInUseError extends SqliteStoreError {}

const Pragma = z.record(z.string(), z.union([z.number(), z.string()]));
const readPragma = (db: DatabaseSync, name: string): number | string =>
  Object.values(Pragma.parse(db.prepare(`PRAGMA ${name}`).get()))[0] ?? 0;

/** Bytes of the file, and of those that are in use. */
export const readSize = (db: DatabaseSync): { readonly used: number; readonly size: number } => {
  const [page, pages, free] = ['page_size', 'page_count', 'freelist_count'].map((name) => Number(readPragma(db, name)));
  return { used: ((pages ?? 0) - (free ?? 0)) * (page ?? 0), size: (pages ?? 0) * (page ?? 0) };
};

// One page, also where nothing has changed.
const WRITE_PAGE = `PRAGMA user_version = ${FORMAT}`;

const isEmpty = (db: DatabaseSync): boolean => db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;

const refuseOtherFile = (db: DatabaseSync, path: string): void => {
  const [id, format] = [readPragma(db, 'application_id'), readPragma(db, 'user_version')];
  if (id === 0 && isEmpty(db)) return;
  if (id !== APPLICATION_ID)
    throw new SqliteStoreError(`STORE: ${path} is a database of another program. Name another file.`);
  if (format !== FORMAT)
    throw new SqliteStoreError(
      `STORE: ${path} has format ${format}, this version reads ${FORMAT}. Start the version that made it, or name another file.`,
    );
};

/**
 * Opens the file, or makes it, for its owner alone. Throws SqliteStoreError where it is not ours, damaged, there is no room,
 * or another process has it.
 */
export const openSqlite = ({ path, durable }: SqliteFile): DatabaseSync => {
  let db: DatabaseSync | undefined;
  try {
    // Before SQLite opens it: it would make it readable for others, and to close it later would drop the locks.
    if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600));
    db = new DatabaseSync(path);
    // Before anything is read: the first lock is never given back, and a second process finds it.
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    refuseOtherFile(db, path);
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${durable === 'power' ? 'FULL' : 'NORMAL'};`);
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};`);
    db.exec('BEGIN IMMEDIATE');
    const damage = readPragma(db, 'quick_check(1)');
    if (damage !== 'ok') throw new Error(`malformed (${damage})`);
    if (isEmpty(db)) db.exec(`${TABLES} PRAGMA application_id = ${APPLICATION_ID};`);
    db.exec(WRITE_PAGE);
    db.exec('COMMIT');
    if (path !== ':memory:') writeFileSync(toHolderPath(path), `${process.pid} on ${hostname()}\n`, { mode: 0o600 });
    return db;
  } catch (error) {
    if (db?.isOpen === true) db.close();
    throw error instanceof SqliteStoreError ? error : explain(path, error);
  }
};

/** Lets go of the file. */
export const closeSqlite = (db: DatabaseSync, path: string): void => {
  rmSync(toHolderPath(path), { force: true });
  db.close();
};

/** Copies what is committed into a new file, for its owner alone. Nothing else runs meanwhile. */
export const writeCopy = (db: DatabaseSync, to: string): void => {
  // SQLite writes into a file that is empty. Not over one that somebody needs.
  closeSync(openSync(to, 'wx', 0o600));
  try {
    db.prepare('VACUUM INTO ?').run(to);
  } catch (error) {
    rmSync(to);
    throw error;
  }
};

/** The same of a file that no process uses. */
export const copySqlite = (file: SqliteFile, to: string): void => {
  if (!existsSync(file.path)) throw new SqliteStoreError(`STORE: there is no ${file.path}.`);
  const db = openSqlite(file);
  try {
    writeCopy(db, to);
  } finally {
    closeSqlite(db, file.path);
  }
};

// SQLite does not tell who has a lock.
const toHolderPath = (path: string): string => `${path}-pid`;

const readHolder = (path: string): string => {
  try {
    return `process ${readFileSync(toHolderPath(path), 'utf8').trim()}`;
  } catch {
    return 'another process';
  }
};

const explain = (path: string, error: unknown): SqliteStoreError => {
  const reason = error instanceof Error ? error.message : String(error);
  const cause = { cause: error };
  if (/is locked|busy/.test(reason))
    return new SqliteInUseError(
      `STORE: ${path} is in use by ${readHolder(path)}. One process uses a file at a time: end that one, or name another file.`,
      cause,
    );
  if (/not a database|malformed/.test(reason))
    return new SqliteStoreError(
      `STORE: ${path} is damaged or no database: ${reason}. Restore a copy, or name another file.`,
      cause,
    );
  if (/disk is full|ENOSPC|EDQUOT|EFBIG/.test(reason))
    return new SqliteStoreError(`STORE: ${path} cannot be written, for its disk is full. Free some space.`, cause);
  return new SqliteStoreError(
    `STORE: ${path} cannot be opened: ${reason}. Its directory must exist, and this user must be allowed to write to both.`,
    cause,
  );
};
