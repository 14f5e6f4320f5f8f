import { createRedisClient, createRedisScript, type RedisClient } from '@recourse/store-redis/redis-client';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFairTurns } from './fair-turns-model.ts';

const TURNS = new URL('../../src/jobs/lua/tenant-order.lua', import.meta.url);

let redis: RedisForTests | undefined;
let connected: RedisClient | undefined;

beforeAll(async () => {
  redis = await redisForTests();
  const client = createRedisClient(redis.url, 1000);
  client.onError(() => undefined);
  const ready = new Promise<void>((resolve) => client.onReady(resolve));
  client.connect();
  await ready;
  connected = client;
}, timeLimit(30_000));
afterAll(async () => {
  connected?.disconnect();
  await redis?.stop();
});

const client = (): RedisClient => {
  if (connected === undefined) throw new Error('Redis is there only while tests run.');
  return connected;
};

let runs = 0;

/** The script as a shard of a lane uses it, with keys that nothing else has. */
const createScriptTurns = () => {
  runs += 1;
  const key = (name: string): string => `turns-test:{${process.pid}:${runs}}:${name}`;
  const keys = ['turns', 'waiting', 'prioritized', 'wait', 'active'].map(key);
  const script = createRedisScript(client(), TURNS);
  const run = (step: string, tenant: string, call: string, ...tag: readonly string[]) =>
    script(keys, [step, key(call), tenant, call, ...tag]);
  return {
    key,
    offer: (tenant: string, call: string) => run('offer', tenant, call),
    take: (tenant: string, call: string, tag: number) => run('take', tenant, call, String(tag)),
    remove: (tenant: string, call: string, tag: number) => run('remove', tenant, call, String(tag)),
  };
};

type Waiting = { readonly tenant: string; readonly call: string; tag: number };

const KINDS = ['offer', 'offer', 'offer', 'take', 'take', 'remove'] as const;
const Step = fc.record({
  kind: fc.constantFrom(...KINDS),
  tenant: fc.constantFrom('a', 'b', 'c:d'),
  position: fc.nat(20),
});
type TwinStep = typeof Step extends fc.Arbitrary<infer Value> ? Value : never;

/** One lane, twice: by the rule and by the scripts. Each step fails the test where they differ. */
const createTwins = (): { readonly perform: (step: TwinStep) => Promise<void> } => {
  const [rule, scripts] = [createFairTurns(), createScriptTurns()];
  const waiting: Waiting[] = [];
  let calls = 0;
  const steps = {
    offer: async ({ tenant }: TwinStep): Promise<void> => {
      calls += 1;
      const call = `c_${calls}`;
      const tag = rule.offer(tenant, call);
      expect(await scripts.offer(tenant, call)).toBe(tag);
      waiting.push({ tenant, call, tag });
    },
    take: async (): Promise<void> => {
      const [next] = waiting.toSorted((one, other) => one.tag - other.tag);
      if (next === undefined) return;
      waiting.splice(waiting.indexOf(next), 1);
      rule.take(next.tenant, next.call, next.tag);
      await scripts.take(next.tenant, next.call, next.tag);
    },
    remove: async ({ position }: TwinStep): Promise<void> => {
      const [gone] = waiting.splice(position % Math.max(1, waiting.length), 1);
      if (gone === undefined) return;
      const moved = rule.remove(gone.tenant, gone.call, gone.tag);
      expect(await scripts.remove(gone.tenant, gone.call, gone.tag)).toBe(moved?.call ?? null);
      const youngest = waiting.find(({ call }) => call === moved?.call);
      if (youngest !== undefined) youngest.tag = gone.tag;
    },
  } as const;
  return { perform: (step) => steps[step.kind](step) };
};

test('the scripts of Redis and the rule in this process give every job the same tag, and move the same job', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(Step, { maxLength: 60, size: 'max' }), async (steps) => {
      const lane = createTwins();
      for (const step of steps) await lane.perform(step);
    }),
    { numRuns: 60 },
  );
});

test('a lane in which nothing waits leaves nothing behind', async () => {
  const scripts = createScriptTurns();
  for (const call of ['c_1', 'c_2']) await scripts.offer('a', call);
  await scripts.take('a', 'c_1', 1);
  await scripts.remove('a', 'c_2', 2);
  expect(await client().call('EXISTS', scripts.key('turns'), scripts.key('waiting'))).toBe(0);
});

test('the tag of a job that was never added is given up once nothing waits and nothing was offered for long', async () => {
  const scripts = createScriptTurns();
  for (const call of ['c_1', 'c_2', 'c_3']) expect(await scripts.offer('a', call)).toBe(Number(call.slice(2)));
  // As if the last one had been offered ten seconds ago.
  await client().call('HSET', scripts.key('turns'), 'offered_at', String(Date.now() - 10_000));
  expect(await scripts.offer('a', 'c_4')).toBe(1);
  // A job that waits keeps its lane's turns.
  await client().call('HSET', scripts.key('turns'), 'offered_at', String(Date.now() - 10_000));
  await client().call('ZADD', scripts.key('prioritized'), '1', 'c_4');
  expect(await scripts.offer('a', 'c_5')).toBe(2);
});

test('beyond the highest priority of BullMQ jobs share it, and none moves where one of them is removed', async () => {
  const scripts = createScriptTurns();
  expect(await scripts.offer('a', 'c_1')).toBe(1);
  await client().call('HSET', scripts.key('turns'), 'last:a', '2097149');
  const tags: unknown[] = [];
  for (const call of ['c_2', 'c_3', 'c_4']) tags.push(await scripts.offer('a', call));
  expect(tags).toEqual([2_097_150, 2_097_151, 2_097_151]);
  expect(await scripts.remove('a', 'c_2', 2_097_150)).toBeNull();
  await scripts.take('a', 'c_3', 2_097_151);
  expect(await scripts.offer('b', 'c_5')).toBe(1);
});
