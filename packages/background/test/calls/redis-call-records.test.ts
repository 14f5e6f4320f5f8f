import { createRedisClient, createRedisSubscription } from '@recourse/store-redis/redis-client';
import {
  ALL_CALLERS,
  ALL_CALLS,
  accept,
  createCallSpec,
  createRedisRecords,
  DEAF,
  LATE,
  look,
  SURE,
  take,
  toCallRedisKey,
  toSessionCallsKey,
  UNKNOWN,
} from '@recourse/test-support/call-records-under-test.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { toRedisClient, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { createPlainSpace } from '@recourse/test-support/space-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import type { CallRecords } from '#src/calls/call-records.ts';

const WAIT = { timeout: timeLimit(20_000), interval: 20 };

const DAY_MS = 86_400_000;

const redis = useRedis();

const createRecords = async (options: Parameters<typeof createRedisRecords>[1] = {}): Promise<CallRecords> => {
  await redis().del(ALL_CALLS, ALL_CALLERS);
  return createRedisRecords(toRedisClient(redis()), options);
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

test('every key has an end, at each step of a call', async () => {
  const records = await createRecords();
  await redis().flushall();
  const expectEnds = async (): Promise<void> => {
    const keys = await redis().keys('*');
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) expect([key, await redis().pttl(key)]).toEqual([key, expect.toSatisfy((ms) => ms > 0)]);
  };
  const { key, spec } = createCallSpec();
  await records.create(key, spec);
  expect(await redis().pttl(toCallRedisKey(key))).toBeLessThanOrEqual(60_000);
  await expectEnds();
  await records.confirm(key);
  // The hour that the call may take, and a day.
  expect(await redis().pttl(toCallRedisKey(key))).toBeGreaterThan(DAY_MS + 3_590_000);
  expect(await redis().pttl(toCallRedisKey(key))).toBeLessThanOrEqual(DAY_MS + 3_600_000);
  const { lease } = await take(records, key);
  await records.begin(lease);
  await records.renew(lease, { done: 1, total: 2, message: 'half' });
  await records.cancel(key, 'asked');
  await expectEnds();
  await records.commit(lease, '{}', UNKNOWN);
  await records.commit(lease, '{}', LATE);
  expect(await redis().pttl(toCallRedisKey(key))).toBeLessThanOrEqual(DAY_MS);
  await expectEnds();
  // Of what is pending nothing is left.
  await expect.poll(() => redis().keys('recourse2:*:call*s'), WAIT).toEqual([]);
});

test('a call that is claimed is known, whether it was confirmed or not', async () => {
  const records = await createRecords();
  const { key, spec } = createCallSpec();
  await records.create(key, spec);
  await take(records, key);
  expect(await redis().pttl(toCallRedisKey(key))).toBeGreaterThan(DAY_MS);
});

test('a result that is too large is kept without its value, and says so', async () => {
  const records = await createRecords({ maxResultBytes: 10_000 });
  const result = JSON.stringify({ index: 0, id: 'a', outcome: 'success', value: 'x'.repeat(20_000), message: 'done' });
  const key = await accept(records);
  await records.commit((await take(records, key)).lease, result, SURE);
  const kept = JSON.parse((await look(records, key)).result ?? '');
  expect(kept).toMatchObject({ id: 'a', outcome: 'success', value: null, message: 'done', truncated: true });
  expect(kept.warnings).toEqual([
    {
      code: 'result_not_kept',
      message: 'The result was larger than 10000 bytes and was not stored; the call ran and is not run again.',
    },
  ]);
});

test('a result that the store has no room for ends the call without its value', async () => {
  const asked: string[] = [];
  const space = createPlainSpace((what) => {
    asked.push(what);
    return what === 'arguments';
  });
  const records = await createRecords({ space });
  const [large, small] = [await accept(records), await accept(records)];
  asked.length = 0;
  const result = JSON.stringify({ outcome: 'success', value: 'x'.repeat(5000), message: 'done' });
  expect(await records.commit((await take(records, large)).lease, result, SURE)).toBe('held');
  expect(JSON.parse((await look(records, large)).result ?? '')).toMatchObject({ value: null, truncated: true });
  expect(asked).toEqual(['pending_results']);
  // A small one takes no more room than the record that says how the call ended.
  await records.commit((await take(records, small)).lease, '{"value":"small"}', SURE);
  expect((await look(records, small)).result).toBe('{"value":"small"}');
  expect(asked).toHaveLength(1);
});

test('a store that is nearly full takes no further call, and still knows those that it has', async () => {
  let isFull = false;
  const records = await createRecords({ space: createPlainSpace((what) => what !== 'arguments' || !isFull) });
  const { key, spec } = createCallSpec({ fingerprint: 'one' });
  await records.create(key, spec);
  await records.confirm(key);
  isFull = true;
  expect(await records.create(key, spec)).toEqual({ kind: 'exists' });
  expect(await records.create(`${key}x`, spec)).toEqual({ kind: 'same', key });
  const other = createCallSpec({ fingerprint: 'two' });
  expect(await records.create(other.key, other.spec)).toEqual({ kind: 'full', of: 'store', limit: 85 });
  expect(await records.find(other.key)).toBeNull();
});

test('a call takes room for its arguments until it ends, and one that was not made takes none', async () => {
  const space = createPlainSpace();
  const records = await createRecords({ space, limits: { ofSession: 1 } });
  const { key, spec } = createCallSpec({ arguments: JSON.stringify({ text: 'x'.repeat(50_000) }) });
  expect(await records.create(key, spec)).toEqual({ kind: 'created' });
  const taken = space.kept();
  expect(taken).toBeGreaterThan(52_000);
  expect(await records.create(key, spec)).toEqual({ kind: 'exists' });
  const same = createCallSpec({ sessionKey: spec.sessionKey, fingerprint: spec.fingerprint });
  await records.confirm(key);
  expect(await records.create(same.key, same.spec)).toEqual({ kind: 'same', key });
  const more = createCallSpec({ sessionKey: spec.sessionKey });
  expect(await records.create(more.key, more.spec)).toMatchObject({ kind: 'full', of: 'session' });
  expect(space.kept()).toBe(taken);
  const { lease } = await take(records, key);
  const result = JSON.stringify({ value: 'y'.repeat(10_000) });
  expect(await records.commit({ ...lease, fence: 9 }, result, SURE)).toBe('lost');
  expect(space.kept()).toBe(taken);
  expect(await records.commit(lease, result, SURE)).toBe('held');
  expect(await records.commit(lease, result, SURE)).toBe('held');
  expect(space.kept()).toBe(taken - spec.arguments.length + result.length);
  const kept = space.kept();
  const other = createCallSpec();
  await records.create(other.key, other.spec);
  await records.withdraw(other.key);
  expect(space.kept()).toBe(kept);
});

test('half characters in arguments, progress and results end nothing, and what is JSON stays as it is', async () => {
  const records = await createRecords();
  const key = await accept(records, { arguments: JSON.stringify({ half: '\ud83d' }) });
  const { lease, record } = await take(records, key);
  expect(JSON.parse(record.spec.arguments)).toEqual({ half: '\ud83d' });
  await records.renew(lease, { done: 1, total: null, message: 'half \ud83d' });
  expect((await look(records, key)).progress?.message).toBe('half \ud83d');
  await records.commit(lease, JSON.stringify({ value: '\ud83d' }), SURE);
  expect(JSON.parse((await look(records, key)).result ?? '')).toEqual({ value: '\ud83d' });
});

test('a record of which nothing is left is unknown, and its call may be made anew; one whose spec is damaged has ended', async () => {
  const records = await createRecords();
  const key = await accept(records);
  await redis().hset(toCallRedisKey(key), 's', '{"no":"spec"}', 'v', 'of another');
  expect(await records.find(key)).toMatchObject({ state: 'ended', spec: null });
  expect(await records.claim(key)).toEqual({ kind: 'ended' });
  const { key: other, spec } = createCallSpec();
  await redis().hset(toCallRedisKey(other), 'v', 'of another', 'h', '{"no":"head"}');
  expect(await records.find(other)).toBeNull();
  expect(await records.create(other, spec)).toEqual({ kind: 'created' });
  expect(await records.confirm(other)).toBe('confirmed');
  await redis().zadd(toSessionCallsKey(spec.sessionKey), '1', 'no entry');
  expect(await records.sessions.list(spec.sessionKey ?? '')).toEqual([other]);
  await redis().set(ALL_CALLS, 'text');
  expect(await records.due(10)).toEqual([]);
});

test('a lease of a clock that was set back is over, and so is a look that is too far off', async () => {
  let skewMs = DAY_MS;
  const records = await createRecords({ skewMs: () => skewMs });
  const key = await accept(records);
  await take(records, key);
  skewMs = 0;
  expect((await records.claim(key)).kind).toBe('held');
  const far = await accept(records);
  for (const entry of await redis().zrange(ALL_CALLS, '0', '-1'))
    await redis().zadd(ALL_CALLS, String(Date.now() + DAY_MS), entry);
  expect(await records.due(10)).toEqual([far]);
});

test('one replica hears of what another does, also after the server was restarted', async () => {
  const server = await startRedisServer();
  onTestFinished(server.stop);
  const [one, other] = [await createReplica(server.url), await createReplica(server.url)];
  const heard: string[] = [];
  onTestFinished(one.signals.watch((key) => heard.push(key)));
  const hearOne = async (): Promise<void> => {
    const key = await accept(other);
    const isHeard = async (): Promise<boolean> => {
      await other.cancel(key, 'asked');
      return heard.includes(key);
    };
    await expect.poll(isHeard, WAIT).toBe(true);
  };
  await hearOne();
  await server.restart();
  await expect.poll(() => accept(other).catch(() => null), WAIT).not.toBeNull();
  await hearOne();
});

test('nothing subscribes before somebody watches', async () => {
  const asked: string[] = [];
  const subscribe: typeof DEAF.subscribe = (channel, listener) => {
    asked.push(channel);
    return DEAF.subscribe(channel, listener);
  };
  const records = await createRecords({ subscription: { subscribe } });
  await accept(records);
  expect(asked).toEqual([]);
  const stops = [records.signals.watch(() => undefined), records.signals.watch(() => undefined)];
  expect(asked).toEqual(['recourse2:pending']);
  for (const stop of stops) stop();
});

test('what a server has on disk survives its death: lease, begins and results', async () => {
  const server = await startRedisServer({ settings: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  onTestFinished(server.stop);
  const records = await createReplica(server.url);
  const [begun, ended] = [await accept(records), await accept(records)];
  const { lease } = await take(records, begun);
  await records.begin(lease);
  await records.commit((await take(records, ended)).lease, '{"value":1}', SURE);
  await server.kill();
  await expect(records.find(begun)).rejects.toThrow();
  await server.restart();
  await expect.poll(() => records.find(begun).catch(() => null), WAIT).not.toBeNull();
  expect(await look(records, begun)).toMatchObject({ state: 'running', begins: 1 });
  expect(await look(records, ended)).toMatchObject({ state: 'ended', result: '{"value":1}' });
  expect(await records.renew(lease, null)).toEqual({ state: 'held', cancel: 'no' });
  expect(await records.commit(lease, '{"value":2}', SURE)).toBe('held');
});

test('long arguments go to Redis once and come back with a claim: no later step and no description moves them', async () => {
  let moved = '';
  const client = toRedisClient(redis());
  const send: typeof client.send = async (...words) => {
    const answer = await client.send(...words);
    moved += JSON.stringify([words, answer]);
    return answer;
  };
  const records = createRedisRecords({ ...client, send });
  const long = 'x'.repeat(10_000);
  const key = await accept(records, { arguments: JSON.stringify({ long }) });
  expect(moved.split(long)).toHaveLength(2);
  // As another process: what this one knows of the call is not known there.
  const worker = createRedisRecords({ ...client, send });
  const { lease, record } = await take(worker, key);
  expect(record.spec.arguments).toContain(long);
  moved = '';
  await worker.begin(lease);
  await worker.renew(lease, { done: 1, total: 2, message: null });
  await worker.release(lease);
  expect(await records.versions([key])).not.toEqual(['']);
  expect(await records.describe(key)).toMatchObject({ spec: { arguments: '' } });
  expect(moved).not.toContain(long);
});
