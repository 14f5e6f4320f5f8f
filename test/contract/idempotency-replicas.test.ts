import {
  codesOf,
  createActor,
  createKeyedClient,
  freshName,
  startLab,
  warningsOf,
} from '@recourse/test-support/keyed-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const WRITE = { effects: 'write' } as const;

const createGate = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: () => resolve() };
};

test('a batch that one replica had to leave is finished by another: what it ran is replayed', async () => {
  const gate = createGate();
  const ran: string[] = [];
  const createWrite = (replica: string) =>
    createActor('write', WRITE, async ({ n }) => {
      ran.push(`${replica} ${n}`);
      if (replica === 'one') await gate.opened;
      return n;
    });
  const one = await startLab([createWrite('one')], { REDIS_URL: redis.url });
  const two = await startLab([createWrite('two')], { REDIS_URL: redis.url });
  const key = freshName();
  const body = { order: 'sequential', calls: [1, 2].map((n) => ({ name: 'write', arguments: { n } })) };
  const asked = one.post(body, { key });
  await expect.poll(() => ran).toEqual(['one 1']);
  expect((await two.post(body, { key })).status).toBe(409);
  one.service.drain();
  gate.open();
  expect(codesOf(await asked)).toEqual(['ok', 'shutting_down']);
  const rest = await two.post(body, { key });
  expect(rest.results.map(({ value, replayed }) => [value, replayed])).toEqual([
    [1, true],
    [2, undefined],
  ]);
  expect(ran).toEqual(['one 1', 'two 2']);
});

test('while Redis is away safe calls run and say that no key was kept, writes do not run and say nothing of it, and later both do', async () => {
  if (redis.own === null) return;
  const server = await redisForTests();
  if (server.own === null) return;
  const [look, write] = [createActor('look'), createActor('write', WRITE)];
  const { post, lost } = await startLab([look, write], { REDIS_URL: server.url });
  await server.own.kill();
  const key = freshName();
  const calls = [{ name: 'look' }, { name: 'write' }];
  const away = await post(calls, { key });
  expect(codesOf(away)).toEqual(['ok', 'store_unavailable']);
  expect(away.results[1]).toMatchObject({ outcome: 'refused', executed: 'no', retry: null });
  expect(away.results.map(warningsOf)).toEqual([['idempotency_not_kept'], []]);
  expect(await lost(away.requestId)).toMatchObject({ status: 503 });
  await server.own.restart();
  await expect
    .poll(async () => codesOf(await post(calls, { key })), { timeout: timeLimit(15_000) })
    .toEqual(['ok', 'ok']);
  expect((await post(calls, { key })).headers.get('idempotent-replayed')).toBe('true');
  expect(write.asked).toHaveLength(1);
  await server.stop();
});

test.each([
  ['an object that is no result', '{}'],
  ['a result of a version that is not this one', '{"message":"","outcome":"marvellous","executed":"yes","error":null}'],
])(
  'a stored result that is %s is no bug of ours, and its call is unknown and does not run again',
  async (_what, text) => {
    if (redis.own === null) return;
    const [look, write] = [createActor('look'), createActor('write', WRITE)];
    const { post } = await startLab([look, write], { REDIS_URL: redis.url });
    const key = freshName();
    const calls = [{ name: 'look' }, { name: 'write' }];
    await post(calls, { key });
    const direct = await connectToRedis(redis.url);
    const found = await direct.keys('*:keyed');
    for (const record of found)
      if ((await direct.hexists(record, 'r:1')) === 1)
        // Of a version that the service does not know.
        await direct.hset(record, 'r:0', text, 'r:1', text, 'v', 'other');
    direct.disconnect();
    expect(codesOf(await post(calls, { key }))).toEqual(['outcome_unknown', 'outcome_unknown']);
    expect([look.asked.length, write.asked.length]).toEqual([1, 1]);
  },
);

test('a write that was begun by a replica that died is unknown, also where its tool is gone', async () => {
  if (redis.own === null) return;
  const never = new Promise<never>(() => undefined);
  const write = createActor('write', WRITE, () => never);
  const one = await startLab([write], { REDIS_URL: redis.url });
  const key = freshName();
  void createKeyedClient(one.service.url)
    .post([{ name: 'write' }], { key })
    .catch(() => undefined);
  await expect.poll(() => write.asked).toHaveLength(1);
  const direct = await connectToRedis(redis.url);
  const two = await startLab([createActor('other')], { REDIS_URL: redis.url });
  // As if the first had died a lease ago: its lease is over.
  const records = await direct.keys('*:keyed');
  for (const record of records) {
    const words = (await direct.hget(record, 'h'))?.split(' ') ?? [];
    // The end of the lease.
    if (words[4] !== '0') await direct.hset(record, 'h', words.with(4, '1').join(' '));
  }
  direct.disconnect();
  const { results } = await two.post([{ name: 'write' }], { key });
  expect(results[0]).toMatchObject({ outcome: 'unknown', executed: 'maybe', error: { code: 'outcome_unknown' } });
});
