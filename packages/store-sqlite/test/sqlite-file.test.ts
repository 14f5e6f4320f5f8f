import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { counterKind, countUp, olderCounterKind, readCounts } from '@recourse/test-support/counter-kind.ts';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { createManualClock } from '@recourse/test-support/session-stores-under-test.ts';
import { expect, onTestFinished, test } from 'vitest';
import { SqliteRecordStore, waitForSqliteRecordStore } from '#src/sqlite-record-store.ts';

const makeFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-sqlite-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const open = (path: string, now: () => number = Date.now) => {
  const failed: unknown[] = [];
  const onFailed = (error: unknown): void => void failed.push(error);
  const store = new SqliteRecordStore({ path, durable: 'process', cacheBytes: 1_000_000, now, onFailed });
  onTestFinished(() => store.close());
  return Object.assign(store, { records: store.open(counterKind), failed });
};

type Counting = { readonly child: ChildProcess; readonly said: string[]; readonly saidMore: () => Promise<unknown> };

/** `before`: words of a shell before the process begins. */
const startCounting = (path: string, before = ''): Counting => {
  const script = fileURLToPath(new URL('counting-process.ts', import.meta.url));
  const child = spawn('bash', ['-c', `${before} exec "$0" "$@"`, process.execPath, ...FROM_SOURCES, script, path], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => said.push(line));
  return { child, said, saidMore: () => once(lines, 'line') };
};

test('what was promised is in the file after kill -9, ten times', async () => {
  const path = join(await makeFolder(), 'store.db');
  let promised = 0;
  for (let kills = 0; kills < 10; kills += 1) {
    const { child, said, saidMore } = startCounting(path);
    while (said.length < 3 + kills) await saidMore();
    child.kill('SIGKILL');
    await once(child, 'close');
    promised = Number(said.at(-1));
    const store = open(path);
    const counts = await store.records.read('t:one', readCounts);
    store.close();
    expect(counts?.['c']).toBeGreaterThanOrEqual(promised);
    // A turn of the event loop is whole, or not there.
    expect(counts).toEqual({ a: counts?.['c'], b: counts?.['c'], c: counts?.['c'] });
  }
  expect(promised).toBeGreaterThan(10);
});

test('where the file cannot grow nothing is promised, and what was promised before is there', async () => {
  const path = join(await makeFolder(), 'store.db');
  // 1 KiB blocks; the signal would end the process, without it the write fails.
  const { child, said } = startCounting(path, "trap '' XFSZ; ulimit -f 400;");
  await once(child, 'close');
  const promised = said.filter((line) => /^\d+$/.test(line)).length;
  expect(promised).toBeGreaterThan(10);
  expect(said.at(-1)).toMatch(/disk|I\/O/);
  expect(await open(path).records.read('t:one', readCounts)).toEqual({ a: promised, b: promised, c: promised });
});

test('a process that finds the file in use names the other one, waits for a while, and says so once', async () => {
  const path = join(await makeFolder(), 'store.db');
  const { child, saidMore } = startCounting(path);
  await saidMore();
  const problem = `STORE: ${path} is in use by process ${child.pid} on `;
  expect(() => open(path)).toThrow(problem);
  const told: string[] = [];
  const onInUse = (text: unknown): void => void told.push(String(text));
  const options = { path, durable: 'process', cacheBytes: 1_000_000, now: Date.now, onFailed: onInUse } as const;
  await expect(waitForSqliteRecordStore({ ...options, onInUse, inUseMs: 250 })).rejects.toThrow(problem);
  expect(told).toEqual([expect.stringContaining(problem)]);
  child.kill('SIGKILL');
  const store = await waitForSqliteRecordStore({ ...options, onInUse });
  expect(await store.open(counterKind).read('t:one', readCounts)).not.toBeNull();
  store.close();
});

test.each([
  [
    'no database',
    async (path: string) => writeFile(path, 'This is a letter, not a database. '.repeat(100)),
    /is damaged or no database/,
  ],
  [
    'of another program',
    async (path: string) => {
      const db = new DatabaseSync(path);
      db.exec('CREATE TABLE customer (id INTEGER)');
      db.close();
    },
    /is a database of another program/,
  ],
  [
    'of a later version',
    async (path: string) => {
      open(path).close();
      const db = new DatabaseSync(path);
      db.exec('PRAGMA user_version = 9');
      db.close();
    },
    /has format 9, this version reads 2/,
  ],
  ['in no folder', async () => undefined, /cannot be opened/],
])('a file that is %s is not touched, and the error says why', async (what, prepare, message) => {
  const folder = await makeFolder();
  const path = join(folder, what === 'in no folder' ? 'none/store.db' : 'store.db');
  await prepare(path);
  expect(() => open(path)).toThrow(message);
});

test('a claim is answered before its commit, unless it saw what is not committed', async () => {
  const { records } = open(join(await makeFolder(), 'store.db'));
  expect(records.update('t:one', countUp(), 'claim')).toBe(1);
  const second = records.update('t:one', countUp(), 'claim');
  expect(second).toBeInstanceOf(Promise);
  expect(await second).toBe(2);
  expect(records.update('t:one', countUp(), 'claim')).toBe(3);
});

test.each(['long', 'always'] as const)(
  'an update that waits %s is answered when it is in the file',
  async (timeout) => {
    const path = join(await makeFolder(), 'store.db');
    const updated = open(path).records.update('t:one', countUp(), timeout);
    expect(updated).toBeInstanceOf(Promise);
    await updated;
    const copy = join(path, '..', 'copy.db');
    await copyFile(path, copy);
    await copyFile(`${path}-wal`, `${copy}-wal`);
    expect(await open(copy).records.read('t:one', readCounts)).toEqual({ one: 1 });
  },
);

test('what nobody waits for is in the file with the next commit, and without one a moment later', async () => {
  const path = join(await makeFolder(), 'store.db');
  const store = open(path);
  void store.records.update('t:one', countUp());
  await store.records.update('t:two', countUp(), 'long');
  const copy = async (name: string) => {
    // Made by SQLite from the file alone, so that nothing is written for it.
    const to = join(path, '..', name);
    await copyFile(path, to);
    await copyFile(`${path}-wal`, `${to}-wal`);
    return open(to).records;
  };
  expect(await (await copy('first.db')).read('t:one', readCounts)).toEqual({ one: 1 });
  void store.records.update('t:one', countUp());
  let tries = 0;
  const readLater = async () => {
    tries += 1;
    return (await copy(`${tries}.db`)).read('t:one', readCounts);
  };
  await expect.poll(readLater).toEqual({ one: 2 });
});

test('records that have ended leave the file as others are made', async () => {
  const path = join(await makeFolder(), 'store.db');
  const clock = createManualClock();
  const store = open(path, clock.now);
  const make = async (name: string, count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) await store.records.update(`t:${name}-${at}`, countUp(), 'long');
  };
  await make('early', 40);
  clock.advance(60_000 + 60_001);
  await make('late', 150);
  store.close();
  const db = new DatabaseSync(path);
  const keys = db.prepare('SELECT key FROM record').all();
  const fields = db.prepare('SELECT count(DISTINCT record) AS records FROM field').get();
  db.close();
  expect(keys.filter(({ key }) => String(key).startsWith('t:early'))).toEqual([]);
  expect(keys).toHaveLength(150);
  expect(fields?.['records']).toBe(150);
});

test('the store says what it uses of what its disk has for it, and uses less when records have ended', async () => {
  const clock = createManualClock();
  const store = open(join(await makeFolder(), 'store.db'), clock.now);
  const before = store.look();
  const make = (name: string) => store.records.update(`t:${name}`, countUp('x'.repeat(100_000)), 'long');
  for (let at = 0; at < 20; at += 1) await make(`early-${at}`);
  const filled = store.look();
  expect(filled.used - before.used).toBeGreaterThan(2_000_000);
  expect(filled.max).toBeGreaterThan(filled.used);
  expect(filled).toMatchObject({ servers: 1, policy: null });
  clock.advance(60_000 + 60_001);
  for (let at = 0; at < 300; at += 1) await store.records.update(`t:late-${at}`, countUp(), 'long');
  expect(store.look().used).toBeLessThan(filled.used - 1_000_000);
});

test('a copy of the store is a store', async () => {
  const folder = await makeFolder();
  const store = open(join(folder, 'store.db'));
  await store.records.update('t:one', countUp(), 'long');
  store.backup(join(folder, 'copy.db'));
  await store.records.update('t:one', countUp(), 'long');
  expect(await open(join(folder, 'copy.db')).records.read('t:one', readCounts)).toEqual({ one: 1 });
});

test('code that lacks a field of a record changes the others and keeps it', async () => {
  const path = join(await makeFolder(), 'store.db');
  const newer = open(path);
  await newer.records.update('t:one', countUp('later'));
  await newer.records.update('t:one', countUp('one'), 'long');
  newer.close();
  const older = open(path);
  const records = older.open(olderCounterKind);
  expect(await records.update('t:one', countUp('one'), 'long')).toBe(2);
  expect(await records.read('t:one', readCounts)).toEqual({ one: 2 });
  await records.update('t:one', countUp('two'), 'long');
  await records.update('t:one', ({ counts }) => counts.delete('one'), 'long');
  older.close();
  expect(await open(path).records.read('t:one', readCounts)).toEqual({ two: 1, later: 1 });
});
