import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteRecordStore } from '@recourse/store-sqlite/sqlite-record-store';
import {
  accept,
  createCallSpec,
  createRedisRecords,
  LATE,
  look,
  openEmbeddedCalls,
  SURE,
  take,
  toCallRedisKey,
} from '@recourse/test-support/call-records-under-test.ts';
import { createSealing, ROTATION } from '@recourse/test-support/sealing.ts';
import { toRedisClient, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { NO_SEALING, type Sealing } from 'recourse-server/internal/store/seals.ts';
import { expect, onTestFinished, test } from 'vitest';
import { callKind } from '#src/calls/call-kind.ts';
import type { CallRecords } from '#src/calls/call-records.ts';
import { renderUnbelieved } from '#src/lost-results.ts';

const redis = useRedis();

/** Another process: what one of them knows of a record the other ones read. */
const createReplica = (sealing: Sealing, options: Parameters<typeof createRedisRecords>[1] = {}): CallRecords =>
  createRedisRecords(toRedisClient(redis()), { ...options, sealing });

const SECRETS = {
  arguments: '{"pin":"PIN-4711"}',
  caller: 'a caller',
  tool: 'transfer',
  name: 'transfer',
  key: 'of a key',
};

const dump = async (key: string): Promise<string> => JSON.stringify(await redis().hgetall(toCallRedisKey(key)));

/** Another process writes the record: version and all. */
const write = async (key: string, fields: Readonly<Record<string, string>>): Promise<void> => {
  await redis().hset(toCallRedisKey(key), { ...fields, v: `another writer ${Math.random()}` });
};

test('with a key of the store all that a worker runs from is sealed there, before and after the end', async () => {
  const records = createReplica(createSealing(['k1']));
  const key = await accept(records, SECRETS);
  const words = [...Object.values(SECRETS), 'PIN-4711', 'acceptedAt', 'fingerprint'];
  const shown = await dump(key);
  for (const word of words) expect(shown).not.toContain(word);
  const { lease, record } = await take(createReplica(createSealing(['k1'])), key);
  expect(record.spec).toMatchObject(SECRETS);
  await records.commit(lease, '{"value":1}', SURE);
  const after = await dump(key);
  for (const word of words) expect(after).not.toContain(word);
  expect(await redis().hexists(toCallRedisKey(key), 'a')).toBe(0);
  const ended = await look(createReplica(createSealing(['k1'])), key);
  expect(ended).toMatchObject({ state: 'ended', result: '{"value":1}', spec: { ...SECRETS, arguments: '' } });
});

/** What somebody with access to Redis does to a call, and of which kind it then is. */
const CHANGES = {
  'forged: its spec is not sealed': async (key: string) => {
    await write(key, { s: JSON.stringify({ ...createCallSpec().spec, arguments: '' }), a: '{"a":2}' });
    return 'not_sealed';
  },
  'moved: its spec is that of another handle': async (key: string, other: string) => {
    const from = await redis().hgetall(toCallRedisKey(other));
    await write(key, { s: from['s'] ?? '', a: from['a'] ?? '' });
    return 'not_authentic';
  },
  'moved whole, from another handle': async (key: string, other: string) => {
    await write(key, await redis().hgetall(toCallRedisKey(other)));
    return 'not_authentic';
  },
  'moved: its arguments are those of another call': async (key: string, other: string) => {
    await write(key, { a: (await redis().hget(toCallRedisKey(other), 'a')) ?? '' });
    return 'not_authentic';
  },
  'forged: its arguments are not sealed': async (key: string) => {
    await write(key, { a: '{"a":2}' });
    return 'not_authentic';
  },
  'without its arguments': async (key: string) => {
    await redis().hdel(toCallRedisKey(key), 'a');
    await write(key, {});
    return 'not_authentic';
  },
  'damaged: {"broken': async (key: string) => {
    await write(key, { s: '{"broken' });
    return 'damaged';
  },
  'damaged: a seal that was cut': async (key: string) => {
    const text = (await redis().hget(toCallRedisKey(key), 's')) ?? '';
    await write(key, { s: text.slice(0, -7) });
    return 'not_authentic';
  },
} as const;

const ENDS = {
  'that had not begun is cancelled': { begins: 0, code: 'cancelled', executed: 'no' },
  'that had begun has an unknown outcome': { begins: 1, code: 'outcome_unknown', executed: 'maybe' },
} as const;

const CELLS = Object.entries(ENDS).flatMap(([end, expected]) =>
  Object.entries(CHANGES).map(([change, act]) => ({ title: end, change, act, ...expected })),
);

test.each(CELLS)('a call $title where its record is $change', async ({ act, begins, code, executed }) => {
  const [key, other] = [
    await accept(createReplica(createSealing(['k1']))),
    await accept(createReplica(createSealing(['k1'])), { tenant: 'globex' }),
  ];
  // Also the whole record of the other one has begun.
  if (begins > 0)
    for (const one of [key, other]) {
      const records = createReplica(createSealing(['k1']));
      const { lease } = await take(records, one);
      await records.begin(lease);
      await records.release(lease);
      await write(one, {
        h: (await redis().hget(toCallRedisKey(one), 'h'))?.replace('"begins":0', '"begins":1') ?? '',
      });
    }
  const problem = await act(key, other);
  const sealing = createSealing(['k1']);
  const worker = createReplica(sealing);
  expect(await worker.claim(key)).toEqual({ kind: 'ended' });
  expect(sealing.unopened).toEqual([problem]);
  const ended = await look(createReplica(createSealing(['k1'])), key);
  expect(ended).toMatchObject({ state: 'ended', begins, result: null });
  const told = JSON.parse(renderUnbelieved(begins));
  expect([told.error.code, told.executed]).toEqual([code, executed]);
  // It is one end, whoever asks, and nothing runs.
  expect(await worker.claim(key)).toEqual({ kind: 'ended' });
  expect(sealing.unopened).toHaveLength(1);
});

test('whoever asks for such a call before a worker takes it gets its end', async () => {
  const key = await accept(createReplica(createSealing(['k1'])));
  await write(key, { s: '{"broken' });
  const sealing = createSealing(['k1']);
  expect(await createReplica(sealing).find(key)).toMatchObject({ state: 'ended', spec: null });
  expect(sealing.unopened).toEqual(['damaged']);
});

test('a call whose record is damaged while it runs is told to be unknown, until its worker tells how it ended', async () => {
  const records = createReplica(createSealing(['k1']));
  const key = await accept(records);
  const worker = createReplica(createSealing(['k1']));
  const { lease } = await take(worker, key);
  await worker.begin(lease);
  await write(key, { s: '{"broken' });
  expect(await look(records, key)).toMatchObject({ state: 'ended', begins: 1, result: null });
  expect(await worker.commit(lease, '{"value":1}', SURE)).toBe('lost');
  expect(await worker.commit(lease, '{"value":1}', LATE)).toBe('held');
  expect(await look(records, key)).toMatchObject({ result: '{"value":1}', spec: { tool: 'x' } });
});

test('a call is left alone by whoever lacks its key, which tells where it stands, and runs where the key is', async () => {
  const key = await accept(createReplica(createSealing(['k2'])), SECRETS);
  const before = await dump(key);
  for (const sealing of [createSealing(['k1']), { ...createSealing([]), seals: NO_SEALING.seals }]) {
    const records = createReplica(sealing);
    expect(await records.claim(key)).toEqual({ kind: 'key_missing' });
    const { createdAt: acceptedAt } = JSON.parse((await redis().hget(toCallRedisKey(key), 'h')) ?? '');
    const told = { state: 'queued', spec: null, acceptedAt, expiresAt: acceptedAt + 3_600_000 };
    expect([await records.find(key), await records.describe(key)]).toEqual([
      expect.objectContaining(told),
      expect.objectContaining(told),
    ]);
    expect(sealing.unopened).toEqual(['key_missing', 'key_missing', 'key_missing']);
  }
  expect(await dump(key)).toBe(before);
  const worker = createReplica(createSealing(['k1', 'k2']));
  const { lease, record } = await take(worker, key);
  expect(record.spec).toMatchObject(SECRETS);
  await worker.commit(lease, '{"value":1}', SURE);
  const without = createReplica(createSealing(['k3']));
  expect(await without.find(key)).toMatchObject({ state: 'ended', spec: null, result: '{"value":1}' });
});

test('what is not sealed runs only while that is optional', async () => {
  const records = createReplica(NO_SEALING);
  const [first, second] = [await accept(records, SECRETS), await accept(records, SECRETS)];
  const { record } = await take(createReplica(createSealing(['k1'], 'optional')), first);
  expect(record.spec).toMatchObject(SECRETS);
  expect(await createReplica(createSealing(['k1'])).claim(second)).toEqual({ kind: 'ended' });
});

test('in each step of a rotation every process runs what the others accept, and reads how it ended', async () => {
  for (const [step, ids] of ROTATION.entries())
    for (const others of ROTATION.slice(step, step + 2))
      for (const [from, to] of [
        [ids, others],
        [others, ids],
      ]) {
        const key = await accept(createReplica(createSealing(from ?? [])), SECRETS);
        const worker = createReplica(createSealing(to ?? []));
        const { lease, record } = await take(worker, key);
        expect(record.spec).toMatchObject(SECRETS);
        await worker.begin(lease);
        await worker.commit(lease, '{"value":1}', SURE);
        expect(await look(createReplica(createSealing(from ?? [])), key)).toMatchObject({ spec: { tool: 'transfer' } });
      }
});

test('what ended after a key became the first is read when the old key is gone, whoever had accepted it', async () => {
  const key = await accept(createReplica(createSealing(['k1', 'k2'])), SECRETS);
  const worker = createReplica(createSealing(['k2', 'k1']));
  await worker.commit((await take(worker, key)).lease, '{"value":1}', SURE);
  expect(await look(createReplica(createSealing(['k2'])), key)).toMatchObject({ spec: { tool: 'transfer' } });
});

test('the file of SQLite holds nothing of what a call runs from, and the next process goes on with it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-seals-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'store.db');
  const onFailed = (error: unknown): void => {
    throw error;
  };
  const open = async (sealing: Sealing) => {
    const store = new SqliteRecordStore({ path, durable: 'process', cacheBytes: 1_000_000, now: Date.now, onFailed });
    const records = await openEmbeddedCalls(store, Date.now, { keys: store.keys(callKind.name), sealing });
    return { store, records };
  };
  const first = await open(createSealing(['k1']));
  const key = await accept(first.records, SECRETS);
  first.store.close();
  for (const end of ['', '-wal']) {
    const bytes = await readFile(path + end).catch(() => Buffer.alloc(0));
    for (const word of ['PIN-4711', 'transfer', 'a caller']) expect(bytes.includes(word)).toBe(false);
  }
  const without = createSealing(['k9']);
  const second = await open(without);
  expect(await second.records.due(10)).toEqual([]);
  expect(without.unopened).toEqual(['key_missing']);
  second.store.close();
  const third = await open(createSealing(['k1']));
  onTestFinished(third.store.close);
  expect(await third.records.due(10)).toEqual([key]);
  expect((await take(third.records, key)).record.spec).toMatchObject(SECRETS);
});
