import { codesOf, createActor, fail, freshName, type Lab, startLab } from '@recourse/test-support/keyed-client.ts';
import { openConnection, toPostText } from '@recourse/test-support/raw-http.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

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

describe.each(['memory', 'redis'] as const)('a key on %s', (store) => {
  const start = (actors: Parameters<typeof startLab>[0], more: Readonly<Record<string, string>> = {}): Promise<Lab> =>
    startLab(actors, store === 'memory' ? more : { REDIS_URL: redis.url, ...more });

  test('calls that were overloaded are run by the same key, and the rest is replayed', async () => {
    const gate = createGate();
    const slow = createActor('slow', {}, () => gate.opened);
    const write = createActor('write', WRITE);
    const { post } = await start([slow, write], { MAX_CONCURRENT_CALLS: '1', MAX_QUEUED_CALLS: '0' });
    const key = freshName();
    const calls = [{ name: 'slow' }, { name: 'write', arguments: { n: 1 } }, { name: 'nix' }];
    const asked = post(calls, { key });
    await expect.poll(() => slow.asked).toHaveLength(1);
    gate.open();
    const first = await asked;
    expect(codesOf(first)).toEqual(['ok', 'overloaded', 'unknown_tool']);
    const second = await post(calls, { key });
    expect(codesOf(second)).toEqual(['ok', 'ok', 'unknown_tool']);
    expect(second.results.map(({ replayed }) => replayed)).toEqual([true, undefined, true]);
    expect(second.headers.get('idempotent-replayed')).toBeNull();
    expect([slow.asked.length, write.asked.length]).toEqual([1, 1]);
    const third = await post(calls, { key });
    expect(third.headers.get('idempotent-replayed')).toBe('true');
    expect(third.results.map(({ replayed }) => replayed)).toEqual([true, true, true]);
    expect(write.asked).toHaveLength(1);
  });

  test('calls that the batch’s deadline kept from starting are run by the same key', async () => {
    const gate = createGate();
    const slow = createActor('slow', {}, () => gate.opened);
    const write = createActor('write', WRITE);
    const { post } = await start([slow, write]);
    const key = freshName();
    const body = { order: 'sequential', calls: [{ name: 'slow' }, { name: 'write' }] };
    const first = await post({ ...body, deadline_ms: 50 }, { key });
    expect(codesOf(first)).toEqual(['timeout', 'cancelled']);
    gate.open();
    const second = await post(body, { key });
    expect(second.results[1]).toMatchObject({ success: true });
    expect(second.results[1]?.replayed).toBeUndefined();
    expect(second.results[0]?.replayed).toBe(true);
    expect([slow.asked.length, write.asked.length]).toEqual([1, 1]);
  });

  test('a call that its circuit refused is run by the same key when the circuit closes', async () => {
    const look = createActor('look', {}, fail);
    const { post } = await start([look], { CIRCUIT_FAILURES: '1', CIRCUIT_OPEN_MS: '300' });
    await post([{ name: 'look' }]);
    const key = freshName();
    const calls = [{ name: 'look', arguments: { keyed: true } }];
    expect(codesOf(await post(calls, { key }))).toEqual(['circuit_open']);
    look.act(() => 'well');
    await expect.poll(async () => codesOf(await post(calls, { key })), { timeout: timeLimit(10_000) }).toEqual(['ok']);
    expect((await post(calls, { key })).results[0]).toMatchObject({ value: 'well', replayed: true });
  });

  test('what stopped at a call that never ran goes on from there, in order', async () => {
    const gate = createGate();
    const order: unknown[] = [];
    const write = createActor('write', WRITE, ({ n }) => void order.push(n));
    const narrow = createActor('narrow', { concurrency: 1 }, async ({ n }) => {
      if (n === undefined) await gate.opened;
      else order.push(n);
    });
    const { post } = await start([write, narrow], { MAX_QUEUED_CALLS: '0' });
    const key = freshName();
    const calls = ['write', 'narrow', 'write'].map((name, n) => ({ name, arguments: { n } }));
    const body = { order: 'sequential', on_error: 'stop', calls };
    const other = post([{ name: 'narrow' }]);
    await expect.poll(() => narrow.asked).toHaveLength(1);
    expect(codesOf(await post(body, { key }))).toEqual(['ok', 'overloaded', 'not_executed']);
    gate.open();
    await other;
    const second = await post(body, { key });
    expect(second.results.map(({ success, replayed }) => [success, replayed])).toEqual([
      [true, true],
      [true, undefined],
      [true, undefined],
    ]);
    expect(order).toEqual([0, 1, 2]);
  });

  test('what stopped at a failure is replayed as it stopped', async () => {
    const [bad, write] = [createActor('bad', {}, fail), createActor('write', WRITE)];
    const { post } = await start([bad, write]);
    const key = freshName();
    const body = { order: 'sequential', on_error: 'stop', calls: [{ name: 'bad' }, { name: 'write' }] };
    for (const replayed of [null, 'true']) {
      const answer = await post(body, { key });
      expect(codesOf(answer)).toEqual(['tool_exception', 'not_executed']);
      expect(answer.headers.get('idempotent-replayed')).toBe(replayed);
    }
    expect([bad.asked.length, write.asked.length]).toEqual([1, 0]);
  });

  test('a client that goes away during a keyed write: it ends, is kept, and the same key gives its result', async () => {
    const gate = createGate();
    const write = createActor('write', WRITE, async () => {
      await gate.opened;
      return 'written';
    });
    const { post, service } = await start([write], { BATCH_CONCURRENCY: '1' });
    const key = freshName();
    const calls = [
      { name: 'write', arguments: { n: 1 } },
      { name: 'write', arguments: { n: 2 } },
    ];
    const connection = await openConnection(service.port);
    connection.write(toPostText(JSON.stringify({ calls }), [['Idempotency-Key', key]]));
    await expect.poll(() => write.asked).toHaveLength(1);
    connection.destroy();
    // Whether the service has noticed does not matter to the key.
    expect((await post(calls, { key })).status).toBe(409);
    gate.open();
    await expect.poll(async () => (await post(calls, { key })).status).toBe(200);
    const again = await post(calls, { key });
    expect(again.results.map(({ value }) => value)).toEqual(['written', 'written']);
    expect(write.asked).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test('a read that was cut off because its client went away is run by the same key', async () => {
    const look = createActor('look', {}, (_input, { signal }) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason));
      return promise;
    });
    const { post, service } = await start([look]);
    const key = freshName();
    const connection = await openConnection(service.port);
    connection.write(
      toPostText('{"calls":[{"name":"look"}]}', [
        ['Idempotency-Key', key],
        ['X-Request-Id', key],
      ]),
    );
    await expect.poll(() => look.asked).toHaveLength(1);
    connection.destroy();
    await expect
      .poll(() => service.logLines().filter((line) => line['msg'] === 'batch' && line['request_id'] === key))
      .toHaveLength(1);
    look.act(() => 'seen');
    await expect.poll(async () => (await post([{ name: 'look' }], { key })).status).toBe(200);
    expect((await post([{ name: 'look' }], { key })).results[0]).toMatchObject({ success: true, value: 'seen' });
  });

  test('a resumed batch is admitted for what it runs: a kept failure is not charged again', async () => {
    const gate = createGate();
    const slow = createActor('slow', { retries: 1 }, async () => {
      await gate.opened;
      fail();
    });
    const write = createActor('write', WRITE);
    const { post, session } = await start([slow, write], { MAX_CONCURRENT_CALLS: '1', MAX_QUEUED_CALLS: '0' });
    const [key, id] = [freshName(), freshName()];
    const body = { session_id: id, calls: [{ name: 'slow' }, { name: 'write' }] };
    const asked = post(body, { key });
    await expect.poll(() => slow.asked).toHaveLength(1);
    gate.open();
    expect(codesOf(await asked)).toEqual(['tool_exception', 'overloaded']);
    const second = await post(body, { key });
    expect(codesOf(second)).toEqual(['tool_exception', 'ok']);
    const { tools, calls } = await session(id);
    expect(tools.find(({ name }) => name === 'slow')).toMatchObject({ failures: 1, used: 0 });
    expect(calls.map(({ step, tool, code }) => [step, tool, code])).toEqual([
      [1, 'slow', 'tool_exception'],
      [1, 'write', 'overloaded'],
      [2, 'write', null],
    ]);
  });
});
