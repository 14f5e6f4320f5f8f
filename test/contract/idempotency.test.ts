import {
  codesOf,
  createActor,
  fail,
  freshName,
  type KeyedAnswer,
  type Lab,
  startLab,
  warningsOf,
} from '@recourse/test-support/keyed-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const environmentOf = (store: 'memory' | 'redis', more: Readonly<Record<string, string>> = {}) =>
  store === 'memory' ? more : { REDIS_URL: redis.url, ...more };

const WRITE = { effects: 'write' } as const;

/** A body without the two things in which a replay may differ. */
const toKept = ({ text }: KeyedAnswer): string =>
  text.replace(/^\{"request_id":"[^"]+",/, '{').replaceAll(',"replayed":true', '');

/** A write that waits to be let go. */
const createHeldWrite = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const write = createActor('write', WRITE, async () => {
    await promise;
    return 'written';
  });
  return { write, release: () => resolve() };
};

describe.each(['memory', 'redis'] as const)('a key on %s', (store) => {
  const start = (actors: Parameters<typeof startLab>[0], more: Readonly<Record<string, string>> = {}): Promise<Lab> =>
    startLab(actors, environmentOf(store, more));

  test('the same body again gives the stored results byte for byte, marked, and runs and costs nothing', async () => {
    const write = createActor('write', WRITE);
    const look = createActor('look', { retries: 1 }, fail);
    const { post, session } = await start([write, look]);
    const [id, key] = [freshName(), freshName()];
    const body = {
      session_id: id,
      calls: [{ id: 'a', name: 'write', arguments: { n: 1 } }, { name: 'look' }, { name: 'nix' }, 7],
    };
    const first = await post(body, { key });
    expect(codesOf(first)).toEqual(['ok', 'tool_exception', 'unknown_tool', 'invalid_call']);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const before = await session(id);
    for (let again = 0; again < 3; again += 1) {
      const replay = await post(body, { key });
      expect(replay.status).toBe(200);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect(replay.requestId).not.toBe(first.requestId);
      expect(toKept(replay)).toBe(toKept(first));
      expect(replay.results.map(({ replayed }) => replayed)).toEqual([true, true, true, true]);
    }
    expect([write.asked, look.asked]).toEqual([[{ n: 1 }], [{}]]);
    expect(await session(id)).toEqual(before);
  });

  test('a batch with the key of one that runs is 409 with Retry-After, and another body is 422 even then', async () => {
    const { write, release } = createHeldWrite();
    const { post } = await start([write]);
    const key = freshName();
    const first = post([{ name: 'write' }], { key });
    await expect.poll(() => write.asked).toHaveLength(1);
    const second = await post([{ name: 'write' }], { key });
    expect([second.status, second.problem]).toEqual([409, 'idempotency_key_in_flight']);
    expect(second.headers.get('retry-after')).toMatch(/^[1-5]$/);
    const other = await post([{ name: 'write', arguments: { n: 2 } }], { key });
    expect([other.status, other.problem]).toEqual([422, 'idempotency_key_reused']);
    release();
    expect(codesOf(await first)).toEqual(['ok']);
    expect((await post([{ name: 'write' }], { key })).headers.get('idempotent-replayed')).toBe('true');
    expect(write.asked).toHaveLength(1);
  });

  test('a batch that runs longer than a lease keeps its key', { timeout: timeLimit(20_000) }, async () => {
    const { write, release } = createHeldWrite();
    const { post } = await start([write]);
    const key = freshName();
    const first = post([{ name: 'write' }], { key });
    await expect.poll(() => write.asked).toHaveLength(1);
    const endsAt = performance.now() + 6500;
    await expect
      .poll(async () => [(await post([{ name: 'write' }], { key })).status, performance.now() > endsAt], {
        timeout: timeLimit(15_000),
        interval: 200,
      })
      .toEqual([409, true]);
    release();
    expect(codesOf(await first)).toEqual(['ok']);
    expect(write.asked).toHaveLength(1);
  });

  test('of twenty that send one key at once one runs the batch, and none gets another answer than it', async () => {
    const { write, release } = createHeldWrite();
    const { post } = await start([write]);
    const key = freshName();
    const asked = Array.from({ length: 20 }, () => post([{ name: 'write' }], { key }));
    await expect.poll(() => write.asked).toHaveLength(1);
    release();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 409 && status !== 200)).toEqual([]);
    expect(write.asked).toHaveLength(1);
    expect((await post([{ name: 'write' }], { key })).results[0]).toMatchObject({ value: 'written', replayed: true });
  });

  test('a key is the same bare and quoted, and a tool hears it with the index of its call', async () => {
    const heard: (string | null)[] = [];
    const look = createActor('look', {}, (_input, { idempotencyKey }) => {
      heard.push(idempotencyKey);
      return 1;
    });
    const { post } = await start([look]);
    const key = freshName();
    const calls = [{ name: 'look', arguments: { n: 1 } }, 7, { name: 'look', arguments: { n: 2 } }];
    await post(calls, { key });
    expect(heard).toEqual([`${key}#0`, `${key}#2`]);
    expect((await post(calls, { key: `"${key}"` })).headers.get('idempotent-replayed')).toBe('true');
    await post([{ name: 'look' }]);
    expect(heard).toEqual([`${key}#0`, `${key}#2`, null]);
  });

  test('the same call twice, word for word, runs once and is replayed in its place', async () => {
    const write = createActor('write', WRITE);
    const { post } = await start([write]);
    const key = freshName();
    const twice = { id: 'a', name: 'write', arguments: { n: 1 } };
    const calls = [twice, { id: 'b', name: 'write', arguments: { n: 1 } }, twice];
    const first = await post(calls, { key });
    expect(first.results.map(({ replayed }) => replayed)).toEqual([undefined, undefined, true]);
    const replay = await post(calls, { key });
    expect(replay.results.map(({ index, id, value, replayed }) => [index, id, value, replayed])).toEqual([
      [0, 'a', { n: 1 }, true],
      [1, 'b', { n: 1 }, true],
      [2, 'a', { n: 1 }, true],
    ]);
    expect(write.asked).toHaveLength(2);
  });

  test('a batch without calls, and one of 64 writes, are kept like any other', async () => {
    const write = createActor('write', WRITE);
    const { post, lost } = await start([write]);
    const [none, many] = [freshName(), freshName()];
    const empty = await post([], { key: none });
    expect([empty.status, empty.headers.get('idempotent-replayed')]).toEqual([200, null]);
    expect((await post([], { key: none })).headers.get('idempotent-replayed')).toBe('true');
    expect((await lost(empty.requestId)).status).toBe(200);
    const calls = Array.from({ length: 64 }, (_, n) => ({ name: 'write', arguments: { n } }));
    const first = await post(calls, { key: many });
    const replay = await post(calls, { key: many });
    expect(toKept(replay)).toBe(toKept(first));
    expect(replay.results.map(({ value }) => value)).toEqual(Array.from({ length: 64 }, (_, n) => ({ n })));
    expect(write.asked).toHaveLength(64);
  });

  test('an answer that was lost can be asked for under its request id, also that of a replay, and no other can', async () => {
    const write = createActor('write', WRITE);
    const { post, lost } = await start([write]);
    const key = freshName();
    const requestId = freshName();
    const first = await post([{ name: 'write', arguments: { n: 1 } }], { key, requestId });
    const found = await lost(requestId);
    expect(found.text).toBe(first.text);
    const replay = await post([{ name: 'write', arguments: { n: 1 } }], { key });
    expect((await lost(replay.requestId)).results[0]).toMatchObject({ success: true, value: { n: 1 } });
    const keyless = await post([{ name: 'write', arguments: { n: 2 } }]);
    for (const unknown of [keyless.requestId, freshName()])
      expect(await lost(unknown)).toMatchObject({ status: 404, problem: 'result_not_kept' });
  });

  test('a result beyond the cap is kept without its value and says so; the call does not run again', async () => {
    const write = createActor('write', WRITE, () => 'x'.repeat(300_000));
    const { post } = await start([write]);
    const key = freshName();
    const first = await post([{ name: 'write' }, { name: 'nix' }], { key });
    expect(first.results[0]?.value).toHaveLength(300_000);
    const replay = await post([{ name: 'write' }, { name: 'nix' }], { key });
    expect(replay.results[0]).toMatchObject({
      success: true,
      executed: 'yes',
      value: null,
      truncated: true,
      replayed: true,
    });
    expect(warningsOf(replay.results[0])).toContain('result_not_kept');
    expect(codesOf(replay)).toEqual(['ok', 'unknown_tool']);
    expect(write.asked).toHaveLength(1);
  });

  test('results say whether the key outlives this process', async () => {
    const look = createActor('look');
    const { post } = await start([look]);
    const { results } = await post([{ name: 'look' }, { name: 'nix' }], { key: freshName() });
    const expected = store === 'memory' ? ['idempotency_not_durable'] : [];
    expect(results.map(warningsOf)).toEqual([expected, expected]);
  });

  test('a keyless batch is never taken for a repeat, whatever the ids of its calls', async () => {
    const write = createActor('write', WRITE);
    const { post } = await start([write]);
    const calls = [{ id: 'call_0', name: 'write', arguments: { n: 1 } }];
    for (let time = 0; time < 3; time += 1) expect((await post(calls)).results[0]?.replayed).toBeUndefined();
    expect(write.asked).toHaveLength(3);
  });
});
