import {
  createKeyedBatch,
  createRedisKeyedUnderTest,
  findWhole,
  hold,
  repeat,
  replay,
  runWhole,
  toFinal,
  toKeyedKey,
  toRepeatable,
  toResult,
} from '@recourse/test-support/idempotency-stores-under-test.ts';
import { type RedisServer, startRedisServer } from '@recourse/test-support/redis-server.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { connectToRedis, createManualClock, toRedisClient } from '@recourse/test-support/session-stores-under-test.ts';
import { createPlainSpace } from '@recourse/test-support/space-lab.ts';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KeyedBatch } from '#src/executor/idempotency-store.ts';
import { createIdempotencyStore } from '#src/sessions/idempotency/idempotency-store.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';

const DAY_MS = 86_400_000;

let server: RedisServer;
let redis: Redis;
let second: Redis;

beforeAll(async () => {
  server = await startRedisServer();
  redis = await connectToRedis(server.url);
  second = await connectToRedis(server.url);
});

afterAll(async () => {
  redis.disconnect();
  second.disconnect();
  await server.stop();
});

const createSubject = (terms = {}) => createRedisKeyedUnderTest(toRedisClient(redis), terms);

test('two replicas race for one key two hundred times: each time exactly one holds it', async () => {
  const replicas = [redis, second].map((client) => createRedisKeyedUnderTest(toRedisClient(client), {}).store);
  const winners: string[] = [];
  for (let round = 0; round < 200; round += 1) {
    const batch = createKeyedBatch();
    const openings = await Promise.all(replicas.map((store) => store.open(repeat(batch))));
    winners.push(openings.map(({ kind }) => kind).join(' '));
  }
  expect(winners.filter((kinds) => kinds === 'held in_flight' || kinds === 'in_flight held')).toHaveLength(200);
});

test('a record lives for a day after it was opened and again after it was committed, and so does what names it', async () => {
  const { store, lapse } = createSubject();
  await redis.flushall();
  const expectDays = async (keys: number): Promise<void> => {
    const names = await redis.keys('*');
    expect(names).toHaveLength(keys);
    for (const name of names) {
      const leftMs = await redis.pttl(name);
      expect(leftMs).toBeGreaterThan(DAY_MS - 60_000);
      expect(leftMs).toBeLessThanOrEqual(DAY_MS);
    }
  };
  const batch = createKeyedBatch();
  const record = await hold(store, batch);
  await expectDays(1);
  await record.start(0);
  await record.renew();
  await expectDays(1);
  await lapse(batch.recordKey);
  const again = await hold(store, repeat(batch));
  await record.start(1);
  await expectDays(1);
  await redis.pexpire(toKeyedKey(batch.recordKey), 1000);
  await again.commit([toFinal(0), toFinal(1)]);
  await expectDays(2);
  await again.amend(0, toResult(0, 'late'));
  await expectDays(2);
  await store.open(repeat(batch));
  await expectDays(3);
});

test('a replay, a renewal and a mark do not prolong the life of the record', async () => {
  const clock = createManualClock(0);
  const { store } = createRedisKeyedUnderTest(toRedisClient(redis), {}, clock);
  const [done, open] = [createKeyedBatch(), createKeyedBatch()];
  await runWhole(store, done);
  const record = await hold(store, open);
  clock.advance(3_600_000);
  await replay(store, done);
  await record.renew();
  await record.start(0);
  for (const { recordKey } of [done, open])
    expect(await redis.pttl(toKeyedKey(recordKey))).toBeLessThanOrEqual(DAY_MS - 3_600_000);
});

test('no step makes a record of a key that is gone', async () => {
  const { store, forget } = createSubject();
  const batch = createKeyedBatch();
  const record = await hold(store, batch);
  await forget(batch.recordKey);
  await record.start(0);
  await record.renew();
  await record.commit([toFinal(0), toFinal(1)]);
  await record.amend(0, toResult(0, 'late'));
  expect(await redis.exists(toKeyedKey(batch.recordKey))).toBe(0);
});

test('scripts that the server has lost are sent again, between any two steps', async () => {
  const { store } = createSubject();
  const batch = createKeyedBatch();
  await redis.script('FLUSH');
  const record = await hold(store, batch);
  const steps = [
    async () => expect(await record.start(0)).toBe('held'),
    async () => expect(await record.renew()).toBe('held'),
    async () => expect(await record.commit([toFinal(0), toFinal(1)])).toBe('held'),
    async () => expect(await record.amend(0, toResult(0, 'late'))).toBeUndefined(),
    async () => expect(await findWhole(store, batch.requestKey)).toEqual([toResult(0, 'late'), toResult(1, 1)]),
    async () => expect(await replay(store, batch)).toEqual([toResult(0, 'late'), toResult(1, 1)]),
  ];
  for (const step of steps) {
    await redis.script('FLUSH');
    await step();
  }
});

/** A store that writes down the commands that it sends, and how large they are. */
const createCounting = () => {
  const client = toRedisClient(redis);
  const sent: { readonly command: string; readonly size: number }[] = [];
  const counting = {
    ...client,
    send: (command: string, ...words: string[]) => {
      sent.push({ command, size: words.join('').length });
      return client.send(command, ...words);
    },
  };
  return { ...createRedisKeyedUnderTest(counting, {}), sent };
};

test('a step is one command, a commit together with what is found under its request', async () => {
  const { store, sent } = createCounting();
  const batch = createKeyedBatch();
  const run = async (of: KeyedBatch): Promise<void> => {
    const record = await hold(store, of);
    await record.start(0);
    await record.renew();
    await record.commit([toFinal(0), toFinal(1)]);
  };
  await run(createKeyedBatch());
  sent.length = 0;
  await run(batch);
  expect(sent.map(({ command }) => command)).toEqual(['EVALSHA', 'EVALSHA', 'EVALSHA', 'EVALSHA']);
  const other = createCounting();
  expect(await other.store.open(batch)).toMatchObject({ kind: 'complete' });
  // It asks for the record, and writes under which request it has answered.
  expect(other.sent).toHaveLength(2);
  other.sent.length = 0;
  expect(await other.store.open({ ...batch, body: 'another' })).toMatchObject({ kind: 'other_body' });
  expect(other.sent).toHaveLength(1);
});

test('a commit of large results goes in several commands of at most a megabyte, each result once', async () => {
  const { store, sent } = createCounting();
  const batch = createKeyedBatch({ calls: 16 });
  const record = await hold(store, batch);
  await record.commit(Array.from({ length: 16 }, (_, index) => toFinal(index, 'v'.repeat(250_000))));
  const bytes = sent.reduce((sum, { size }) => sum + size, 0);
  const results = await replay(store, batch);
  expect(results.map((result) => JSON.parse(result).value.length)).toEqual(Array.from({ length: 16 }, () => 250_000));
  expect(await findWhole(store, batch.requestKey)).toEqual(results);
  expect(Math.max(...sent.map(({ size }) => size))).toBeLessThan(1_048_576);
  expect(bytes).toBeLessThan(16 * 251_000);
});

test('a batch that dies between two commands of one commit has kept what it sent, and holds the record no longer', async () => {
  const client = toRedisClient(redis);
  const clock = createManualClock(0);
  let isDying = false;
  const dying = {
    ...client,
    send: async (command: string, ...words: string[]) => {
      if (isDying) throw new ReplyError('gone');
      isDying = words.some((word) => word.length > 200_000);
      return client.send(command, ...words);
    },
  };
  const { store } = createRedisKeyedUnderTest(dying, {}, clock);
  const batch = createKeyedBatch({ calls: 4 });
  const record = await hold(store, batch);
  await record.start(3);
  const large = [0, 1, 2, 3].map((index) => toFinal(index, 'v'.repeat(250_000)));
  await expect(record.commit(large)).rejects.toThrow('gone');
  const other = createRedisKeyedUnderTest(client, {}, clock);
  expect(await other.store.open(repeat(batch))).toMatchObject({ kind: 'in_flight' });
  await other.lapse(batch.recordKey);
  const { earlier } = await hold(other.store, repeat(batch));
  expect([...earlier].map(([index, { state }]) => [index, state]).toSorted()).toEqual([
    [0, 'committed'],
    [1, 'committed'],
    [2, 'committed'],
    [3, 'started'],
  ]);
});

/** As ioredis names what Redis itself answered. */
class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

test('a commit whose answer is lost is applied once, also where another batch has begun before it is tried again', async () => {
  const client = toRedisClient(redis);
  let isLost = false;
  const losing = {
    ...client,
    send: async (command: string, ...words: string[]) => {
      const answer = await client.send(command, ...words);
      // It was applied, and its answer says something else.
      return isLost ? 'lost' : answer;
    },
  };
  const { store } = createRedisKeyedUnderTest(losing, {});
  const other = createSubject().store;
  const batch = createKeyedBatch();
  const record = await hold(store, batch);
  isLost = true;
  await expect(record.commit([toFinal(0), toRepeatable(1)])).rejects.toThrow('something else');
  isLost = false;
  const again = await hold(other, repeat(batch));
  expect(again.earlier.get(0)).toMatchObject({ state: 'committed' });
  expect(await record.commit([toFinal(0), toRepeatable(1)])).toBe('held');
  expect(await findWhole(store, batch.requestKey)).toEqual([toResult(0, 0), toRepeatable(1).result]);
  expect(await again.commit([toFinal(1)])).toBe('held');
  expect(await record.commit([toFinal(0), toFinal(1)])).toBe('lost');
});

test('where results have no room the marks alone are kept, and nothing is found under the request', async () => {
  const store = createIdempotencyStore({
    store: createMemoryRecordStore({ memory: roomyMemory(), now: Date.now }),
    durability: 'process',
    space: createPlainSpace((what) => what !== 'results'),
  });
  const batch = createKeyedBatch();
  const record = await hold(store, batch);
  await record.start(0);
  expect(await record.commit([toFinal(0), toRepeatable(1)])).toBe('marked');
  expect(await findWhole(store, batch.requestKey)).toBeNull();
  expect([...(await hold(store, repeat(batch))).earlier]).toEqual([[0, { state: 'started' }]]);
  const promised = createKeyedBatch({ answer: 'promised' });
  expect(await (await hold(store, promised)).commit([toFinal(0), toFinal(1)])).toBe('held');
});

test('results take room when they are committed, and a commit that fails takes none', async () => {
  const space = createPlainSpace();
  let isLost = false;
  const records = createMemoryRecordStore({ memory: roomyMemory(), now: Date.now });
  const losing: typeof records = {
    ...records,
    open: (kind) => {
      const opened = records.open(kind);
      const update: typeof opened.update = (...words) =>
        isLost ? Promise.reject(new Error('lost')) : opened.update(...words);
      return {
        update,
        read: opened.read.bind(opened),
        list: opened.list.bind(opened),
        delete: opened.delete.bind(opened),
      };
    },
  };
  const store = createIdempotencyStore({ store: losing, durability: 'process', space });
  const record = await hold(store, createKeyedBatch());
  isLost = true;
  await expect(record.commit([toFinal(0), toFinal(1)])).rejects.toThrow('lost');
  expect(space.kept()).toBe(0);
  isLost = false;
  expect(await record.commit([toFinal(0), toFinal(1)])).toBe('held');
  expect(space.kept()).toBe(Buffer.byteLength(toFinal(0).result) + Buffer.byteLength(toFinal(1).result));
});

test('what is repeatable is kept with the answer, not with the record', async () => {
  const { store } = createSubject();
  const batch = createKeyedBatch();
  const record = await hold(store, batch);
  await record.start(1);
  await record.commit([toFinal(0), toRepeatable(1)]);
  const fields = await redis.hkeys(toKeyedKey(batch.recordKey));
  expect(fields.filter((name) => !/^(v|w:.*)$/.test(name)).toSorted()).toEqual(['h', 'r:0']);
});
