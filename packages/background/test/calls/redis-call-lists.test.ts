import { createRedisClient, createRedisSubscription } from '@recourse/store-redis/redis-client';
import {
  ALL_CALLERS,
  ALL_CALLS,
  accept,
  createCallSpec,
  createRedisCallsUnderTest,
  createRedisRecords,
  DEAF,
  SURE,
  take,
  toCallRedisKey,
  toSessionCallsKey,
} from '@recourse/test-support/call-records-under-test.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { connectToRedis, toRedisClient, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import type { CallRecords } from '#src/calls/call-records.ts';
import { createRedisLiveCalls, createRedisSessionCalls } from '#src/jobs/redis-due-index.ts';

const WAIT = { timeout: timeLimit(20_000), interval: 20 };

const redis = useRedis();

const createRecords = async (options: Parameters<typeof createRedisRecords>[1] = {}): Promise<CallRecords> => {
  await redis().del(ALL_CALLS, ALL_CALLERS);
  return createRedisRecords(toRedisClient(redis()), options);
};

const listedIn = async (list: string): Promise<readonly string[]> => {
  const entries = await redis().zrange(list, '0', '-1');
  return entries.flatMap((entry) => JSON.parse(entry).slice(0, 1)).toSorted();
};

/** As if all entries had been made long ago. */
const age = async (list: string): Promise<void> => {
  for (const entry of await redis().zrange(list, '0', '-1')) await redis().zadd(list, '1', entry);
};

/** A replica with connections of its own, as the service makes them. */
const createReplica = async (url: string): Promise<CallRecords> => {
  const client = createRedisClient(url, 1000);
  const subscription = createRedisSubscription(url);
  onTestFinished(client.disconnect);
  onTestFinished(subscription.close);
  client.onError(() => undefined);
  const ready = new Promise<void>((resolve) => client.onReady(resolve));
  client.connect();
  await ready;
  return createRedisRecords(client, { subscription });
};

test('the lists of a session drop calls whose record is gone, and such calls count towards no limit', async () => {
  const records = await createRecords({ limits: { ofSession: 2 } });
  const { spec } = createCallSpec();
  const sessionKey = spec.sessionKey ?? '';
  const [lost, other] = [await accept(records, { sessionKey }), await accept(records, { sessionKey })];
  const list = toSessionCallsKey(sessionKey);
  await redis().del(toCallRedisKey(lost));
  // It was entered long ago: its record is not being made.
  await age(list);
  expect(await records.sessions.findSame(sessionKey, spec.fingerprint)).toBeNull();
  const third = await accept(records, { sessionKey });
  expect(await listedIn(list)).toEqual([other, third].toSorted());
  await redis().del(toCallRedisKey(other));
  expect(await records.sessions.list(sessionKey)).toEqual([third]);
});

test('an entry whose record is being made is not taken for one that is gone', async () => {
  const records = await createRecords({ limits: { ofSession: 1 } });
  const { key, spec } = createCallSpec();
  const sessionKey = spec.sessionKey ?? '';
  // As one that died between the two has left it.
  const index = createRedisSessionCalls(toRedisClient(redis()), 1)(sessionKey);
  await index.enter({ key, holder: spec.fingerprint }, 5000);
  const other = createCallSpec({ sessionKey });
  expect(await records.create(other.key, other.spec)).toEqual({ kind: 'full', of: 'session', limit: 1 });
  const same = records.sessions.findSame(sessionKey, spec.fingerprint);
  await records.create(key, spec);
  await records.confirm(key);
  expect(await same).toBe(key);
});

test('a sweep takes out what is gone: the room of a caller and of the service comes back', async () => {
  const records = await createRecords({ limits: { ofKey: 1, ofService: 1 } });
  const { spec } = createCallSpec();
  const lost = await accept(records, { caller: spec.caller });
  await redis().del(toCallRedisKey(lost));
  expect((await records.create(...pair(spec.caller))).kind).toBe('full');
  for (const entry of await redis().zrange(ALL_CALLS, '0', '-1')) await redis().zadd(ALL_CALLS, '1', entry);
  expect(await records.due(10)).toEqual([]);
  await expect.poll(() => redis().exists(ALL_CALLS, ALL_CALLERS), WAIT).toBe(0);
  expect((await records.create(...pair(spec.caller))).kind).toBe('created');
});

const pair = (caller: string): Parameters<CallRecords['create']> => {
  const { key, spec } = createCallSpec({ caller });
  return [key, spec];
};

test('a call of an API key is in the list of all calls once, also when a worker has taken it, and in no list after its end', async () => {
  const records = await createRecords();
  const key = await accept(records, { keyHash: 'a'.repeat(64) });
  const { lease } = await take(records, key);
  const listed = async () => (await Array.fromAsync(records.live.list())).flat();
  // What a taking enters is written before the next answer.
  await records.find(key);
  expect(await listed()).toEqual([{ key, holder: `key:${'a'.repeat(64)}` }]);
  await records.commit(lease, '{}', SURE);
  await expect.poll(listed, WAIT).toEqual([]);
});

test('a call that Redis lost from its lists is in them again once a worker has taken it', async () => {
  const records = await createRecords();
  const { spec } = createCallSpec();
  const sessionKey = spec.sessionKey ?? '';
  const key = await accept(records, { sessionKey });
  await redis().del(ALL_CALLS, ALL_CALLERS, toSessionCallsKey(sessionKey));
  expect(await records.sessions.list(sessionKey)).toEqual([]);
  await take(records, key);
  await expect.poll(() => records.sessions.list(sessionKey), WAIT).toEqual([key]);
  expect(await redis().zcard(ALL_CALLS)).toBe(1);
});

test('calls that were given to a sweep which did not hear the answer are due two seconds later', async () => {
  const { records, pass } = await createRedisCallsUnderTest(redis(), DEAF);
  const key = await accept(records);
  await pass(2001);
  const limits = { ofKey: 1, ofService: 1 };
  const lost = await createRedisLiveCalls(toRedisClient(redis()), limits).popDue(10, 2000);
  expect(lost.entries.map((call) => call.key)).toEqual([key]);
  expect(await records.due(10)).toEqual([]);
  await pass(2001);
  expect(await records.due(10)).toEqual([key]);
});

test('of two replicas that sweep at once each call is given to one', async () => {
  const server = await startRedisServer();
  onTestFinished(server.stop);
  const replicas = [await createReplica(server.url), await createReplica(server.url)] as const;
  const keys: string[] = [];
  for (let count = 0; count < 40; count += 1) keys.push(await accept(replicas[0]));
  const direct = await connectToRedis(server.url);
  onTestFinished(() => direct.disconnect());
  for (const entry of await direct.zrange(ALL_CALLS, '0', '-1')) await direct.zadd(ALL_CALLS, '1', entry);
  const swept = await Promise.all([...replicas, ...replicas].map((records) => records.due(15)));
  expect(swept.flat().toSorted()).toEqual(keys.toSorted());
});
