import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Admission, SessionStore } from '#src/executor/session-store.ts';
import { runBudgetModel } from '#test/support/budget-commands.ts';
import { type BudgetSession, createBudgetSession, ROOMY } from '#test/support/budget-session.ts';
import { type RedisServer, startRedisServer } from '#test/support/redis-server.ts';
import {
  connectToRedis,
  createRedisUnderTest,
  type StoreUnderTest,
  toRedisKey,
} from '#test/support/session-stores-under-test.ts';

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await startRedisServer();
  redis = await connectToRedis(server.url);
});

beforeEach(async () => {
  await redis.flushall();
});

afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const create = (retries: Readonly<Record<string, number>> = {}): BudgetSession =>
  createBudgetSession(createRedisUnderTest(redis, ROOMY), retries);

test('a session is one hash, and its key is one hash tag of tenant and session', async () => {
  const session = create();
  await session.run({ a: 'F', b: 'S', _unknown: 'F' }, { round: 'turn_1' });
  await session.run({ a: 'F', b: 'S' });
  expect(await redis.keys('*')).toEqual([`recourse:{${session.key}}`]);
  expect(await redis.type(toRedisKey(session.key))).toBe('hash');
});

/** A store that looks after each step whether the session would live for ever. */
const withLifetimeCheck = (subject: StoreUnderTest): StoreUnderTest => {
  const check = async (key: string): Promise<void> => expect(await redis.pttl(toRedisKey(key))).not.toBe(-1);
  const watched = (admission: Admission, key: string): Admission => ({
    ...admission,
    settle: async (outcomes) => {
      const budgets = await admission.settle(outcomes);
      await check(key);
      return budgets;
    },
  });
  const store: SessionStore = {
    admit: async (round) => {
      const admission = await subject.store.admit(round);
      expect(await redis.pttl(toRedisKey(round.sessionKey))).toBeGreaterThan(0);
      return watched(admission, round.sessionKey);
    },
  };
  return { ...subject, store };
};

test('no step of random sessions leaves a key without an expiry', { timeout: 120_000 }, async () => {
  const seen = await runBudgetModel((settings) => withLifetimeCheck(createRedisUnderTest(redis, settings)), 200);
  expect(seen.size).toBe(5);
});

test('each step sets the expiry anew, refusals too', async () => {
  const session = create({ x: 0 });
  const key = toRedisKey(session.key);
  const isRenewed = async () => {
    const left = await redis.pttl(key);
    await redis.pexpire(key, 5_000);
    return left > 500_000 && left <= 600_000;
  };
  await session.run({ x: 'S' });
  expect(await isRenewed()).toBe(true);
  const failing = await session.begin(['x']);
  expect(await isRenewed()).toBe(true);
  await failing.end({ x: 'F' });
  expect(await isRenewed()).toBe(true);
  expect((await session.begin(['x'])).decisions).toEqual(['tool']);
  expect(await isRenewed()).toBe(true);
});

test('a session expires, and begins anew', async () => {
  const session = createBudgetSession(createRedisUnderTest(redis, { ...ROOMY, ttlMs: 30 }), { x: 0 });
  await session.run({ x: 'F' });
  await expect.poll(() => redis.exists(toRedisKey(session.key)), { timeout: 10_000, interval: 5 }).toBe(0);
  expect((await session.begin(['x'])).decisions).toEqual(['free']);
});

test("a lease ends by the server's clock", async () => {
  const session = create({ x: 1 });
  await session.run({ x: 'F' });
  await session.begin(['x'], { leaseMs: 30 });
  const again = async () => (await session.begin(['x'], { leaseMs: 30_000 })).decisions[0];
  await expect.poll(again, { timeout: 10_000, interval: 5 }).toBe('retry');
});

/** The commands that clients send while `act` runs; what scripts call is left out. */
const commandsOf = async (act: () => Promise<unknown>): Promise<readonly string[]> => {
  const monitor = await redis.monitor();
  const seen: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  monitor.on('monitor', (_time: string, [command = '', word = '']: readonly string[], source: string) => {
    if (command.toLowerCase() === 'echo' && word === 'the end') resolve();
    else if (source !== 'lua') seen.push(command.toUpperCase());
  });
  try {
    await act();
    await redis.echo('the end');
    await promise;
  } finally {
    monitor.disconnect();
  }
  return seen;
};

test('a clean batch costs one command, a failing one two, a refused one one', async () => {
  const session = create({ x: 1 });
  await session.run({ x: 'F', y: 'F' });
  await session.run({ x: 'S', y: 'S' });
  expect(await commandsOf(() => session.run({ a: 'S', b: 'S', x: 'S' }))).toEqual(['EVALSHA']);
  expect(await commandsOf(() => session.run({ a: 'T', b: 'M', x: 'I' }))).toEqual(['EVALSHA']);
  expect(await commandsOf(() => session.run({ x: 'F', a: 'S' }))).toEqual(['EVALSHA', 'EVALSHA']);
  expect(await commandsOf(() => session.run({ x: 'F' }))).toEqual(['EVALSHA', 'EVALSHA']);
  expect(await commandsOf(() => session.run({ x: 'F' }))).toEqual(['EVALSHA']);
  // The session has spent a retry now; what is clean stays as cheap as before.
  expect(await commandsOf(() => session.run({ a: 'S', b: 'T' }))).toEqual(['EVALSHA']);
});

test('a server that has lost the scripts gets them again, at either step, and no step is taken twice', async () => {
  const session = create();
  await redis.script('FLUSH');
  const first = await session.begin(['x']);
  await redis.script('FLUSH');
  expect((await first.end({ x: 'F' }))('x')).toMatchObject({ failures: 1 });
  await redis.script('FLUSH');
  const retry = await session.begin(['x']);
  expect(retry.budgetOf('x')).toMatchObject({ failures: 1, used: 0, remaining: 1 });
});

const BAD_NUMBERS = ['abc', '-5', 'nan', 'inf', '0x10', '1e3', '1.5', ' 1', '', '12345678901234567890'];

test.each(BAD_NUMBERS)('a counter that reads %j reads as 0', async (bad) => {
  const session = create({ x: 2 });
  const key = toRedisKey(session.key);
  const after = async (field: string) => {
    await redis.del(key);
    await session.run({ x: 'F' });
    await session.run({ x: 'F' });
    const running = await session.begin(['x']);
    await redis.hset(key, field, bad);
    await running.end({ x: 'T' });
    await redis.hset(key, field, bad);
    const next = await session.begin(['x', 'y']);
    return [next.decisions[0], next.budgetOf('x').failures, next.budgetOf('x').used, next.budgetOf('y').remaining];
  };
  expect(await after('failures:x')).toEqual(['free', 0, 1, 2]);
  expect(await after('used:x')).toEqual(['retry', 2, 0, 2]);
  for (const field of ['epoch:x', 'failed_at:x', 'lost', 'spent', 'failures:_unknown', 'used:z'])
    expect(await after(field)).toEqual(['retry', 2, 1, 2]);
});

const BAD_CLAIMS = [
  '[[[',
  '"text"',
  '7',
  'null',
  '{}',
  '{"a":1}',
  '[null,7,"x",[],{}]',
  '[{"id":7,"tool":"x","retry":true,"running":1,"lease":9e14}]',
  '[{"id":"b","tool":["x"],"retry":true,"running":1,"lease":9e14}]',
  '[{"id":"b","tool":"x","retry":1,"running":1,"lease":9e14}]',
  '[{"id":"b","tool":"x","retry":true,"running":"1","lease":9e14}]',
  '[{"id":"b","tool":"x","retry":true,"running":-1,"lease":9e14}]',
  '[{"id":"b","tool":"x","retry":true,"running":1,"lease":"9e14"}]',
  '[{"id":"b","tool":"x","retry":true,"running":1,"lease":1e300,"wiped_used":-3,"applied":{}}]',
  '['.repeat(2000),
];

test.each(BAD_CLAIMS)('claims that read %j hold nothing', async (bad) => {
  const session = create({ x: 2 });
  await session.run({ x: 'F' });
  const running = await session.begin(['x']);
  await redis.hset(toRedisKey(session.key), 'claims', bad);
  expect((await running.end({ x: 'F' }))('x')).toMatchObject({ failures: 2, used: 1, remaining: 1 });
  await redis.hset(toRedisKey(session.key), 'claims', bad);
  const next = await session.begin(['x']);
  expect(next.decisions).toEqual(['retry']);
  expect(next.budgetOf('x')).toMatchObject({ failures: 2, used: 1, remaining: 0 });
});

test('a key of another type is an error, for the fall-back to deal with', async () => {
  const session = create();
  await redis.set(toRedisKey(session.key), 'text');
  await expect(session.begin(['x'])).rejects.toThrow('WRONGTYPE');
});

test('one of four clients at once takes each retry, and none is taken twice', async () => {
  const clients = await Promise.all(Array.from({ length: 4 }, () => connectToRedis(server.url)));
  const settings = { ...ROOMY, sessionRetries: 200 };
  const key = 'tenant:four-clients';
  const sessions = clients.map((client) => createBudgetSession(createRedisUnderTest(client, settings), { x: 3 }, key));
  await sessions[0]?.run({ x: 'F' });
  const rounds = await Promise.all(
    Array.from({ length: 50 }, () => sessions.map((session) => session.run({ x: 'F' }))).flat(),
  );
  const decisions = rounds.flatMap((round) => round.decisions);
  expect(decisions).toHaveLength(200);
  expect(decisions.filter((decision) => decision === 'retry')).toHaveLength(3);
  for (const client of clients) client.disconnect();
});
