import { setImmediate as turn } from 'node:timers/promises';
import {
  type Counter,
  counterKind,
  countUp,
  olderCounterKind,
  readCounts,
} from '@recourse/test-support/counter-kind.ts';
import { useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Records } from 'recourse-server/internal/store/record-store.ts';
import { LateAnswerError } from 'recourse-server/internal/store/store-availability.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createRedisClient, type RedisClient } from '#src/redis-client.ts';
import { createRedisRecordStore } from '#src/redis-record-store.ts';

const redis = useRedis();
const WAIT = { timeout: timeLimit(10_000), interval: 20 };
const keyOf = (() => {
  let last = 0;
  return (): string => {
    last += 1;
    return `t:${last}`;
  };
})();
const hashOf = (key: string): string => `recourse2:{${key}}:counter`;

const connect = async (port?: number): Promise<RedisClient> => {
  const { port: own = 0 } = redis().options;
  const client = createRedisClient(`redis://127.0.0.1:${port ?? own}`, 1000);
  onTestFinished(client.disconnect);
  const ready = Promise.withResolvers<void>();
  client.onReady(ready.resolve);
  client.onError(() => undefined);
  client.connect();
  await ready.promise;
  return client;
};

const open = (client: RedisClient, onConflict = (): void => undefined, kind = counterKind): Records<Counter> =>
  createRedisRecordStore({
    client,
    cacheBytes: 1_000_000,
    timeouts: { short: timeLimit(5000), long: timeLimit(10_000) },
    onConflict,
  }).open(kind);

const replicas = async (count: number): Promise<readonly Records<Counter>[]> =>
  Promise.all(Array.from({ length: count }, async () => open(await connect())));

test.each([1, 2, 8])('400 updates of a record at once by %i replicas are 400, each its own', async (count) => {
  const stores = await replicas(count);
  const key = keyOf();
  const results = await Promise.all(
    Array.from({ length: 400 }, async (_, at) => stores[at % count]?.update(key, countUp())),
  );
  expect(results.toSorted((one, other) => Number(one) - Number(other))).toEqual(
    Array.from({ length: 400 }, (_, at) => at + 1),
  );
  expect(await stores[0]?.read(key, readCounts)).toEqual({ one: 400 });
});

test('who deletes a record knows that it is gone: the next update is decided once', async () => {
  let conflicts = 0;
  const records = open(await connect(), () => {
    conflicts += 1;
  });
  const key = keyOf();
  for (let life = 0; life < 3; life += 1) {
    expect(await records.update(key, countUp())).toBe(1);
    await records.delete(key);
  }
  expect(conflicts).toBe(0);
});

test('a replica far away writes beside near ones that never pause', async () => {
  const proxy = await startTcpProxy({ to: redis().options.port ?? 0 });
  onTestFinished(proxy.close);
  const [near, key] = [await replicas(3), keyOf()];
  const far = open(await connect(proxy.port));
  proxy.delay(1);
  let isOver = false;
  const loops = near.map(async (store) => {
    let count = 0;
    for (; !isOver; count += 1) await store.update(key, countUp('near'));
    return count;
  });
  for (let count = 1; count <= 30; count += 1) expect(await far.update(key, countUp('far'))).toBe(count);
  isOver = true;
  const counted = (await Promise.all(loops)).reduce((sum, count) => sum + count, 0);
  expect(await far.read(key, readCounts)).toEqual({ far: 30, near: counted });
});

test('an update that throws is rejected alone: those decided with it are kept', async () => {
  const [store] = await replicas(1);
  const key = keyOf();
  const fail = ({ counts }: Counter): never => {
    counts.set('half', 1);
    throw new Error('no');
  };
  const all = await Promise.allSettled([
    store?.update(key, countUp()),
    store?.update(key, countUp()),
    store?.update(key, fail),
    store?.update(key, countUp()),
  ]);
  expect(all.map((one) => (one.status === 'fulfilled' ? one.value : 'rejected'))).toEqual([1, 2, 'rejected', 3]);
  expect(await store?.read(key, readCounts)).toEqual({ one: 3 });
});

test('a swap whose answer is lost is sent again, and applied once', async () => {
  const proxy = await startTcpProxy({ to: redis().options.port ?? 0 });
  onTestFinished(proxy.close);
  const store = open(await connect(proxy.port));
  const [other] = await replicas(1);
  const key = keyOf();
  for (let count = 1; count <= 8; count += 2) {
    const held = proxy.holdAnswers({ word: `${hashOf(key)}`, times: 1, ms: 600_000 });
    const mine = store.update(key, countUp());
    await expect.poll(async () => other?.read(key, readCounts), WAIT).toMatchObject({ one: count });
    // Another writes before it asks again, which it must not take for a refusal of its own.
    const after = other?.update(key, countUp('two'));
    await after;
    proxy.cut();
    expect([await mine, held()]).toEqual([count, 1]);
    expect(await store.update(key, countUp())).toBe(count + 1);
  }
  expect(await other?.read(key, readCounts)).toEqual({ one: 8, two: 4 });
});

test('reading from a Redis that does not answer ends with the time of a long update', async () => {
  const client = await connect();
  const store = createRedisRecordStore({
    client: { ...client, send: () => new Promise(() => undefined) },
    cacheBytes: 1_000_000,
    timeouts: { short: 10, long: 20 },
  }).open(counterKind);
  const asked = [store.read('t:x', readCounts), store.list('t:x', 1), store.delete('t:x')];
  const ended = await Promise.allSettled(asked);
  expect(ended.map((one) => one.status === 'rejected' && one.reason instanceof LateAnswerError)).toEqual([
    true,
    true,
    true,
  ]);
});

test('all swaps of one turn are one command', async () => {
  const client = await connect();
  let commands = 0;
  const store = open({
    ...client,
    send: (...words) => {
      commands += 1;
      return client.send(...words);
    },
  });
  const keys = Array.from({ length: 20 }, keyOf);
  await Promise.all(keys.map((key) => store.update(key, countUp())));
  await turn();
  expect(commands).toBe(1);
});

test('the list keeps as many elements as its kind says, and begins anew with its record', async () => {
  const [store, other] = await replicas(2);
  const key = keyOf();
  const add = (text: string) => (state: Counter) => {
    state.added = [...state.added, text];
    return countUp()(state);
  };
  for (const text of ['a', 'b', 'c', 'd']) await store?.update(key, add(text));
  const textsOf = async () => await other?.list(key, 9);
  expect(await textsOf()).toEqual(['b', 'c', 'd']);
  // As an eviction of the hash alone would.
  await redis().del(hashOf(key));
  await store?.update(key, add('e'));
  expect([await textsOf(), await other?.read(key, readCounts)]).toEqual([['e'], { one: 1 }]);
});

test('a replica whose code lacks a field of a record changes the others and keeps it', async () => {
  const [newer, older] = [open(await connect()), open(await connect(), undefined, olderCounterKind)];
  const key = keyOf();
  await newer.update(key, countUp('later'));
  await newer.update(key, countUp('one'));
  expect(await older.update(key, countUp('one'))).toBe(2);
  expect(await older.read(key, readCounts)).toEqual({ one: 2 });
  await older.update(key, countUp('two'));
  await older.update(key, ({ counts }) => counts.delete('one'));
  expect(await newer.update(key, countUp('later'))).toBe(2);
  expect(await older.update(key, countUp('two'))).toBe(2);
  expect(await newer.read(key, readCounts)).toEqual({ two: 2, later: 2 });
});

test('fields of writers that are gone do not gather', async () => {
  const key = keyOf();
  for (const store of await replicas(20)) await store.update(key, countUp());
  const fields = Object.keys(await redis().hgetall(hashOf(key)));
  expect(fields.filter((name) => name.startsWith('w:')).length).toBeLessThanOrEqual(10);
});

test('what Redis refuses rejects with its words, and the record goes on', async () => {
  const [store] = await replicas(1);
  const key = keyOf();
  await store?.update(key, countUp());
  await redis().config('SET', 'maxmemory', '1');
  onTestFinished(async () => void (await redis().config('SET', 'maxmemory', '0')));
  await expect(store?.update(key, countUp())).rejects.toThrow(/OOM/);
  await redis().config('SET', 'maxmemory', '0');
  expect(await store?.update(key, countUp())).toBe(2);
});

test('an update that changes nothing tells the last state, whoever wrote it', async () => {
  const [one, other] = await replicas(2);
  const key = keyOf();
  await one?.update(key, countUp());
  await other?.update(key, countUp());
  expect(await one?.update(key, readCounts)).toEqual({ one: 2 });
});

test('an update that cannot be sent, for there is no connection, rejects at once', async () => {
  const client = createRedisClient('redis://127.0.0.1:1');
  onTestFinished(client.disconnect);
  const error: unknown = await Promise.resolve(open(client).update(keyOf(), countUp())).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  expect(error).not.toBeInstanceOf(LateAnswerError);
});
