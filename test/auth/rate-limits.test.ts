import { type RedisCluster, startRedisCluster } from '@recourse/test-support/redis-cluster.ts';
import { type RedisServer, startRedisServer } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LimitRate } from '#src/auth/rate-limits.ts';
import { createStoreMemory } from '#src/memory/store-memory.ts';
import { type Caller, connectClient, countLetIn, createSubject, freshCaller } from './rate-lab.ts';

// The same promises, wherever it is counted.

let redis: RedisServer;
let cluster: RedisCluster;
beforeAll(async () => {
  [redis, cluster] = await Promise.all([startRedisServer(), startRedisCluster()]);
}, timeLimit(60_000));
afterAll(() => Promise.all([redis.stop(), cluster.stop()]));

const WAIT = { timeout: timeLimit(15_000), interval: 20 };
const PLACES = [
  ['in memory', () => Promise.resolve(null)],
  ['in Redis', () => connectClient(redis.url)],
  ['in a Redis Cluster', () => connectClient(cluster.urls)],
] as const;

const askUntilLetIn = async (limit: LimitRate, caller: Caller): Promise<number> => {
  await expect.poll(async () => limit(caller, ''), WAIT).toBeNull();
  return performance.now();
};

describe.each(PLACES)('counted %s', (_place, connect) => {
  test('exactly as many requests are let in as the rate says, also all at once', async () => {
    const { limit, errors } = createSubject({ client: await connect() });
    for (const requests of [1, 3, 40]) expect(await countLetIn(limit, freshCaller(requests), 100)).toBe(requests);
    expect(errors).toEqual([]);
  });

  test('who is refused is told when its window ends, and is let in then and not before', async () => {
    const { limit, errors } = createSubject({ client: await connect() });
    const caller = freshCaller(2, 1000);
    for (let window = 0; window < 2; window += 1) {
      await askUntilLetIn(limit, caller);
      await limit(caller, '');
      const refusedAt = performance.now();
      const refused = await limit(caller, '');
      // The window may have ended meanwhile on a machine that is very busy.
      if (refused === null) continue;
      expect(refused.retryAfterMs).toBeGreaterThan(0);
      expect(refused.retryAfterMs).toBeLessThanOrEqual(1000);
      const letInAt = await askUntilLetIn(limit, caller);
      // The clocks of server and process tick in milliseconds, and not together.
      expect(letInAt - refusedAt).toBeGreaterThan(refused.retryAfterMs - 20);
    }
    expect(errors).toEqual([]);
  });

  test('a refused caller waits for the rest of its window, however often it asks meanwhile', async () => {
    const { limit } = createSubject({ client: await connect() });
    const caller = freshCaller(1, 60_000);
    await limit(caller, '');
    let least = 60_000;
    for (let again = 0; again < 200; again += 1) {
      const refused = await limit(caller, '');
      expect(refused?.retryAfterMs).toBeLessThanOrEqual(least);
      expect(refused?.retryAfterMs).toBeGreaterThan(20_000);
      least = refused?.retryAfterMs ?? 0;
    }
  });

  test('each caller has a count of its own, and its own rate or the standard one', async () => {
    const { limit } = createSubject({ client: await connect(), standard: { requests: 2, windowMs: 3_600_000 } });
    const callers = [freshCaller(1), freshCaller(3), freshCaller(7), freshCaller(), freshCaller()];
    const letIn = await Promise.all(callers.map((caller) => countLetIn(limit, caller, 10)));
    expect(letIn).toEqual([1, 3, 7, 2, 2]);
  });

  test('who has no key is counted by address, of IPv6 by its network', async () => {
    const { limit } = createSubject({ client: await connect(), standard: { requests: 1, windowMs: 3_600_000 } });
    const anonymous = { tenant: 'anonymous', rateKey: null, rate: null };
    const ask = async (address: string) => (await limit(anonymous, address)) === null;
    expect([await ask('192.0.2.1'), await ask('192.0.2.1'), await ask('192.0.2.2')]).toEqual([true, false, true]);
    expect([await ask('2001:db8::1'), await ask('2001:db8::2'), await ask('2001:db8:1::')]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test('without any rate a request is let in at once, and nothing is counted', async () => {
    const { limit, errors } = createSubject({ client: await connect() });
    expect(limit(freshCaller(), '')).toBeNull();
    expect(errors).toEqual([]);
  });

  test('who is known to be over its rate is refused at once', async () => {
    const { limit } = createSubject({ client: await connect() });
    const caller = freshCaller(1);
    await countLetIn(limit, caller, 2);
    expect(limit(caller, '')).toEqual({ retryAfterMs: expect.any(Number), rate: { requests: 1, windowMs: 3_600_000 } });
  });
});

describe.each(PLACES.slice(1))('counted %s', (_place, connect) => {
  test('all replicas together let in as many as the rate says', async () => {
    const replicas = await Promise.all(
      Array.from({ length: 4 }, async () => createSubject({ client: await connect() })),
    );
    for (const requests of [1, 10, 35]) {
      const caller = freshCaller(requests);
      const letIn = await Promise.all(replicas.map(({ limit }) => countLetIn(limit, caller, 20)));
      expect(letIn.reduce((sum, count) => sum + count)).toBe(requests);
    }
    expect(replicas.flatMap(({ errors }) => errors)).toEqual([]);
  });

  test('one that hears of a caller for the first time knows what it has used up elsewhere', async () => {
    const [one, other] = [createSubject({ client: await connect() }), createSubject({ client: await connect() })];
    const caller = freshCaller(5);
    expect(await countLetIn(one.limit, caller, 5)).toBe(5);
    expect(await countLetIn(other.limit, caller, 1)).toBe(0);
  });
});

test('in memory the callers that came last are counted, and the others forgotten', async () => {
  // A fiftieth of it is for rates: some fifty callers.
  const { limit } = createSubject({ memory: createStoreMemory({ totalBytes: 2_500_000 }) });
  const callers = Array.from({ length: 101 }, () => freshCaller(1));
  const askAll = () => Promise.all(callers.map((caller) => countLetIn(limit, caller, 1)));
  await askAll();
  // The last ones took the places of the first, who then take those of the next, and so on.
  expect(await askAll()).toEqual(Array(101).fill(1));
  const last = callers.slice(-25);
  expect(await Promise.all(last.map((caller) => countLetIn(limit, caller, 1)))).toEqual(Array(25).fill(0));
});

test('in memory a tenant with any number of callers makes nobody of another tenant start anew', async () => {
  const { limit } = createSubject({ memory: createStoreMemory({ totalBytes: 2_500_000 }) });
  const caller = { ...freshCaller(1), tenant: 'other' };
  expect(await countLetIn(limit, caller, 2)).toBe(1);
  for (let count = 0; count < 500; count += 1) await countLetIn(limit, freshCaller(1), 2);
  expect(await countLetIn(limit, caller, 2)).toBe(0);
});
