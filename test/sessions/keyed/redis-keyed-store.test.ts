import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRedisKeyedStore } from '#src/sessions/keyed/redis-keyed-store.ts';
import {
  createKeyedBatch,
  createRedisKeyedUnderTest,
  hold,
  repeat,
  replay,
  runWhole,
  toFinal,
  toKeyedKey,
  toRepeatable,
  toResult,
} from '#test/support/keyed-stores-under-test.ts';
import { type RedisServer, startRedisServer } from '#test/support/redis-server.ts';
import { connectToRedis, toRedisClient } from '#test/support/session-stores-under-test.ts';

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
  const replicas = [redis, second].map((client) => createRedisKeyedStore({ client: toRedisClient(client) }));
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

test('a replay does not prolong the life of the record', async () => {
  const { store } = createSubject();
  const batch = createKeyedBatch();
  await runWhole(store, batch);
  await redis.pexpire(toKeyedKey(batch.recordKey), 60_000);
  await replay(store, batch);
  expect(await redis.pttl(toKeyedKey(batch.recordKey))).toBeLessThanOrEqual(60_000);
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
    async () => expect(await store.find(batch.requestKey)).toEqual([toResult(0, 'late'), toResult(1, 1)]),
    async () => expect(await replay(store, batch)).toEqual([toResult(0, 'late'), toResult(1, 1)]),
  ];
  for (const step of steps) {
    await redis.script('FLUSH');
    await step();
  }
});

test('a step is one command, and noting the answer one more', async () => {
  const sent: string[] = [];
  const client = toRedisClient(redis);
  const store = createRedisKeyedStore({
    client: {
      ...client,
      callPatiently: (command: string, ...parameters: string[]) => {
        sent.push(command);
        return client.callPatiently(command, ...parameters);
      },
    },
  });
  const run = async (): Promise<void> => {
    const record = await hold(store, createKeyedBatch());
    await record.start(0);
    await record.renew();
    await record.commit([toFinal(0), toFinal(1)]);
  };
  await run();
  sent.length = 0;
  await run();
  expect(sent).toEqual(['EVALSHA', 'EVALSHA', 'EVALSHA', 'EVALSHA', 'SET']);
});

test('what is large goes and comes in several commands of at most a megabyte', async () => {
  const sizes: number[] = [];
  const client = toRedisClient(redis);
  const counting = {
    ...client,
    call: async (command: string, ...parameters: string[]) => {
      const answer = await client.call(command, ...parameters);
      sizes.push(parameters.join('').length, JSON.stringify(answer).length);
      return answer;
    },
  };
  const store = createRedisKeyedStore({ client: counting });
  const batch = createKeyedBatch({ calls: 16 });
  const record = await hold(store, batch);
  await record.commit(Array.from({ length: 16 }, (_, index) => toFinal(index, 'v'.repeat(250_000))));
  const results = await replay(store, batch);
  expect(results.map((result) => JSON.parse(result).value.length)).toEqual(Array.from({ length: 16 }, () => 250_000));
  expect(await store.find(batch.requestKey)).toEqual(results);
  expect(Math.max(...sizes)).toBeLessThan(1_048_576);
});

test('a batch that dies between two commands of one commit has kept what it sent, and holds the record no longer', async () => {
  const { lapse } = createSubject();
  const client = toRedisClient(redis);
  let commits = 0;
  const dying = {
    ...client,
    callPatiently: async (command: string, ...parameters: string[]) => {
      if (parameters.includes('more') || parameters.includes('last')) commits += 1;
      if (commits > 1) throw new Error('gone');
      return client.callPatiently(command, ...parameters);
    },
  };
  const store = createRedisKeyedStore({ client: dying });
  const batch = createKeyedBatch({ calls: 4 });
  const record = await hold(store, batch);
  await record.start(3);
  await lapse(batch.recordKey);
  const large = [0, 1, 2, 3].map((index) => toFinal(index, 'v'.repeat(250_000)));
  await expect(record.commit(large)).rejects.toThrow('gone');
  const other = createSubject().store;
  expect(await other.open(repeat(batch))).toMatchObject({ kind: 'in_flight' });
  await lapse(batch.recordKey);
  const { earlier } = await hold(other, repeat(batch));
  expect([...earlier].map(([index, { state }]) => [index, state])).toEqual([
    [0, 'committed'],
    [1, 'committed'],
    [2, 'committed'],
    [3, 'started'],
  ]);
});

test('what is repeatable is kept with the answer, not with the record', async () => {
  const { store } = createSubject();
  const batch = createKeyedBatch();
  const record = await hold(store, batch);
  await record.start(1);
  await record.commit([toFinal(0), toRepeatable(1)]);
  const fields = await redis.hkeys(toKeyedKey(batch.recordKey));
  expect(fields.toSorted()).toEqual(['body', 'committed', 'fence', 'life', 'result:0']);
});
