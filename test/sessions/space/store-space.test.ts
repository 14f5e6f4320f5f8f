import { Cluster, type Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import type { Droppable, StoreFill } from '#src/executor/store-observer.ts';
import { createRedisKeyedStore } from '#src/sessions/keyed/redis-keyed-store.ts';
import type { RedisClient } from '#src/sessions/redis-client.ts';
import { createRedisSpace } from '#src/sessions/space/store-space.ts';
import { createSpaceLedger } from '#src/sessions/space-ledger.ts';
import { accept, createRedisRecords, look, SURE, take } from '#test/support/call-records-under-test.ts';
import { createKeyedBatch, hold, repeat, toFinal } from '#test/support/keyed-stores-under-test.ts';
import { startRedisCluster } from '#test/support/redis-cluster.ts';
import { startRedisServer } from '#test/support/redis-server.ts';
import { connectToRedis, toRedisClient } from '#test/support/session-stores-under-test.ts';
import { timeLimit } from '#test/support/time-limit.ts';

const WAIT = { timeout: timeLimit(20_000), interval: 20 };
const DAY_MS = 86_400_000;

const onServer = async (): Promise<Redis> => {
  const server = await startRedisServer();
  onTestFinished(server.stop);
  const redis = await connectToRedis(server.url);
  onTestFinished(() => redis.disconnect());
  return redis;
};

const onCluster = async (): Promise<Cluster> => {
  const cluster = await startRedisCluster();
  onTestFinished(cluster.stop);
  const redis = new Cluster(cluster.urls.split(','));
  onTestFinished(() => redis.disconnect());
  await expect.poll(() => redis.set('recourse:{ready}', '1').catch(() => 'not yet'), WAIT).toBe('OK');
  return redis;
};

/** The space of a replica, and what it was told. Results may take 120 000 bytes together, and 60 000 of one tenant. */
const createReplica = (client: RedisClient) => {
  const seen: { dropped: Record<Droppable, number>; refused: string[]; full: string[]; fill: StoreFill | null } = {
    dropped: { journal: 0, result: 0 },
    refused: [],
    full: [],
    fill: null,
  };
  const errors: unknown[] = [];
  const space = createRedisSpace({
    client,
    settings: { memoryBytes: 200_000, droppablePercent: 60, tenantPercent: 50, sessionTtlMs: DAY_MS },
    observer: {
      filled: (fill) => {
        seen.fill = fill;
      },
      dropped: (what, count) => {
        seen.dropped[what] += count;
      },
      refused: (_, tenant) => void seen.refused.push(tenant),
      tenantFull: (tenant) => void seen.full.push(tenant),
    },
    onFailed: (error) => errors.push(error),
    now: () => performance.now(),
  });
  space.start();
  onTestFinished(space.stop);
  const calls = createRedisRecords(client, { space });
  return { store: createRedisKeyedStore({ client, space }), calls, space, seen, errors };
};

/** A write that ran and whose result of 8 kB was committed. */
const write = async ({ store }: ReturnType<typeof createReplica>, tenant = 'tenant') => {
  const { recordKey, requestKey, ...rest } = createKeyedBatch({ calls: 1 });
  const batch = { ...rest, recordKey: `${tenant}${recordKey}`, requestKey: `${tenant}${requestKey}` };
  const record = await hold(store, batch);
  await record.start(0);
  const state = await record.commit([{ ...toFinal(0), result: JSON.stringify({ value: 'x'.repeat(8000) }) }]);
  return { batch, state };
};

test.each([
  ['a server', onServer],
  ['a cluster', onCluster],
])(
  'on %s the oldest results of a tenant go first; their writes are marked, and the latest are kept',
  async (_, open) => {
    const replica = createReplica(toRedisClient(await open()));
    const { store, seen, errors } = replica;
    const first = await write(replica);
    expect(first.state).toBe('held');
    expect(await store.open(repeat(first.batch))).toMatchObject({ kind: 'complete' });
    const hasDropped = async () => {
      await write(replica);
      return seen.dropped.result;
    };
    await expect.poll(hasDropped, WAIT).toBeGreaterThan(0);
    const again = await store.open(repeat(first.batch));
    expect(again).toMatchObject({ kind: 'held' });
    if (again.kind === 'held') expect([...again.record.earlier]).toEqual([[0, { state: 'started' }]]);
    expect(await store.find(first.batch.requestKey)).toBeNull();
    const keeps = async () => (await write(replica)).state;
    await expect.poll(keeps, WAIT).toBe('held');
    expect(new Set(seen.full)).toEqual(new Set(['tenanttenant']));
    expect(seen.fill?.droppableMax).toBe(120_000);
    expect(errors).toEqual([]);
  },
  60_000,
);

test('what comes faster than it can be dropped is marked at once, before any command is answered', async () => {
  const { space, seen } = createReplica(toRedisClient(await onServer()));
  const burst = Array.from({ length: 100 }, (_, index) => space.reserve('result', `fast:${index}`, 8000));
  // A tenant's 60 000 bytes.
  expect(burst.filter((answer) => answer === 'kept')).toHaveLength(7);
  expect(new Set(seen.refused)).toEqual(new Set(['fast']));
});

test('a second replica hears within a second what a tenant has kept at the first', async () => {
  const redis = await onServer();
  const [one, two] = [createReplica(toRedisClient(redis)), createReplica(toRedisClient(redis))];
  for (let index = 0; index < 6; index += 1) one.space.reserve('result', `both:${index}`, 8000);
  const canKeep = () => {
    two.space.reserve('result', 'both:ask', 0);
    return two.space.reserve('result', 'both:large', 30_000);
  };
  await expect.poll(canKeep, WAIT).toBe('refused');
  expect(two.seen.fill?.droppable).toBeGreaterThan(40_000);
});

test('of more tenants than one command can name, each is named in its turn, also while all of them go on keeping', () => {
  let time = 0;
  const limits = { room: 1e9, part: 1e6 };
  const ledger = createSpaceLedger({ limits, now: () => time, wake: () => undefined });
  const named = new Set<string>();
  for (let round = 0; round < 4; round += 1) {
    time += 11_000;
    for (let place = 0; place < 5000; place += 1) ledger.reserve('result', `tenant-${place}:${round}`, 100);
    const taken = ledger.take();
    expect(taken).toHaveLength(2000);
    for (const { tenant, words } of taken) if (words !== '') named.add(tenant);
    const ofTenants = taken.map(({ bytes }) => bytes);
    ledger.learn(taken, ofTenants, limits);
  }
  expect(named.size).toBe(5000);
});

test('results of pending calls are dropped as well, oldest first, and how each call ended stays', async () => {
  const { calls, seen } = createReplica(toRedisClient(await onServer()));
  const keys: string[] = [];
  const result = JSON.stringify({ outcome: 'success', message: 'done', value: 'x'.repeat(8000), error: null });
  const endOne = async (): Promise<number> => {
    const key = await accept(calls);
    await calls.commit((await take(calls, key)).lease, result, SURE);
    keys.push(key);
    return seen.dropped.result;
  };
  await expect.poll(endOne, WAIT).toBeGreaterThan(0);
  const [oldest = ''] = keys;
  await expect.poll(async () => (await look(calls, oldest)).result, WAIT).toContain('"truncated":true');
  const { state, result: kept } = await look(calls, oldest);
  expect(state).toBe('ended');
  expect(JSON.parse(kept ?? '')).toMatchObject({ outcome: 'success', message: 'done', value: null });
});
