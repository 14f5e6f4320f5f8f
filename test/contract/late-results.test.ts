import { once } from 'node:events';
import {
  codesOf,
  createActor,
  createKeyedClient,
  fail,
  freshName,
  type Lab,
  startLab,
  warningsOf,
} from '@recourse/test-support/keyed-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

/** A write that has 50 ms, and ends as it is told when it is let go. */
const createLateWrite = (end: () => unknown) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const write = createActor('write', { effects: 'write', timeoutMs: 50 }, () => promise.then(end));
  return { write, release: () => resolve() };
};

describe.each(['memory', 'redis'] as const)('late on %s', (store) => {
  const start = (actors: Parameters<typeof startLab>[0], more: Readonly<Record<string, string>> = {}): Promise<Lab> =>
    startLab(actors, store === 'memory' ? more : { REDIS_URL: redis.url, ...more });

  test('a write that ends after its time replaces the stored unknown, and its handler runs once', async () => {
    const { write, release } = createLateWrite(() => ({ row: 7 }));
    const { post, lost, service } = await start([write]);
    const key = freshName();
    const calls = [{ id: 'a', name: 'write' }];
    const first = await post(calls, { key });
    expect(first.results[0]).toMatchObject({ outcome: 'unknown', executed: 'maybe', error: { code: 'timeout' } });
    expect((await post(calls, { key })).results[0]).toMatchObject({ outcome: 'unknown', replayed: true });
    release();
    const after = { index: 0, id: 'a', success: true, executed: 'yes', value: { row: 7 }, error: null, retry: null };
    await expect.poll(async () => (await post(calls, { key })).results[0]).toMatchObject({ ...after, replayed: true });
    expect((await lost(first.requestId)).results[0]).toMatchObject(after);
    expect(write.asked).toHaveLength(1);
    expect(await service.metric('recourse_late_results_total{tool="write",ended="returned"}')).toBe(1);
  });

  test('a write that fails after its time is a failure of its own when it is asked for again', async () => {
    const { write, release } = createLateWrite(fail);
    const { post } = await start([write]);
    const key = freshName();
    await post([{ name: 'write' }], { key });
    release();
    await expect.poll(async () => codesOf(await post([{ name: 'write' }], { key }))).toEqual(['tool_exception']);
    expect(write.asked).toHaveLength(1);
  });

  test('a safe handler that obeys its signal ends no other way for that: its time-out is what is kept', async () => {
    const obedient = defineTool({
      name: 'obedient',
      description: 'Waits for its signal.',
      effects: 'read',
      timeoutMs: 50,
      input: z.object({}),
      run: async (_input, { signal }) => {
        await once(signal, 'abort');
        throw signal.reason;
      },
    });
    const service = await startService(store === 'memory' ? {} : { REDIS_URL: redis.url }, [obedient]);
    onTestFinished(service.stop);
    const { post } = createKeyedClient(service.url);
    const key = freshName();
    await expect.poll(async () => codesOf(await post([{ name: 'obedient' }], { key }))).toEqual(['timeout']);
    const late = 'recourse_late_results_total{tool="obedient",ended="threw"}';
    await expect.poll(() => service.metric(late)).toBe(1);
    const again = await post([{ name: 'obedient' }], { key });
    expect([codesOf(again), again.results[0]?.replayed]).toEqual([['timeout'], true]);
  });

  test('the copy of a call that was said twice hears of its late result as well', async () => {
    const { write, release } = createLateWrite(() => 'written');
    const { post } = await start([write]);
    const key = freshName();
    const twice = { id: 'a', name: 'write' };
    expect(codesOf(await post([twice, twice], { key }))).toEqual(['timeout', 'timeout']);
    release();
    await expect.poll(async () => codesOf(await post([twice, twice], { key }))[0]).toBe('ok');
    await expect
      .poll(async () => (await post([twice, twice], { key })).results.map(({ value, replayed }) => [value, replayed]))
      .toEqual([
        ['written', true],
        ['written', true],
      ]);
    expect(write.asked).toHaveLength(1);
  });

  test('a late result also replaces the stored unknown after another try of its batch has begun', async () => {
    const { write, release } = createLateWrite(() => 'written');
    const look = createActor('look');
    const { post } = await start([write, look], { MAX_CONCURRENT_CALLS: '1', MAX_QUEUED_CALLS: '0' });
    const key = freshName();
    const calls = [{ name: 'write' }, { name: 'look' }];
    expect(codesOf(await post(calls, { key }))).toEqual(['timeout', 'overloaded']);
    expect(codesOf(await post(calls, { key }))).toEqual(['timeout', 'ok']);
    release();
    await expect.poll(async () => codesOf(await post(calls, { key }))).toEqual(['ok', 'ok']);
    expect([write.asked.length, look.asked.length]).toEqual([1, 1]);
  });

  test('a late result says what every result of its batch says of the key', async () => {
    const { write, release } = createLateWrite(() => 'written');
    const { post } = await start([write]);
    const key = freshName();
    const calls = [
      { id: 'a', name: 'write', arguments: { n: 1 } },
      { id: 'a', name: 'nix' },
    ];
    const first = await post(calls, { key });
    release();
    await expect.poll(async () => codesOf(await post(calls, { key }))[0]).toBe('ok');
    expect(warningsOf((await post(calls, { key })).results[0])).toEqual(warningsOf(first.results[0]));
  });

  test('the journal shows what came of a call after its answer, beside what was answered, and no budget changes', async () => {
    const { write, release } = createLateWrite(() => 'written');
    const { post, session } = await start([write]);
    const id = freshName();
    await post({ session_id: id, calls: [{ name: 'write' }] });
    const before = await session(id);
    expect(before.calls[0]).toMatchObject({ outcome: 'unknown', code: 'timeout', executed: 'maybe' });
    expect(before.calls[0]?.late).toBeUndefined();
    release();
    await expect.poll(async () => (await session(id)).calls[0]?.late?.outcome).toBe('success');
    const after = await session(id);
    expect(after.calls[0]).toMatchObject({
      outcome: 'unknown',
      code: 'timeout',
      late: { executed: 'yes', code: null },
    });
    expect(after.tools).toEqual(before.tools);
    expect(after.session).toEqual(before.session);
  });

  test('a late failure is told without its secrets, and a read that ends late is told too', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = createActor('look', { timeoutMs: 50 }, () =>
      promise.then(() => {
        throw new Error('no way to https://bob:hunter2@db.example.com/');
      }),
    );
    const { post, session } = await start([look]);
    const id = freshName();
    await post({ session_id: id, calls: [{ name: 'look' }] });
    resolve();
    await expect
      .poll(async () => (await session(id)).calls[0]?.late)
      .toMatchObject({
        outcome: 'retry',
        code: 'tool_exception',
        message: 'Error: no way to https://[redacted]@db.example.com/',
      });
  });

  test('what is late of an ended session is written nowhere', async () => {
    const { write, release } = createLateWrite(() => 'written');
    const { post, session, service } = await start([write]);
    const id = freshName();
    await post({ session_id: id, calls: [{ name: 'write' }] });
    await fetch(`${service.url}/sessions/${id}`, { method: 'DELETE' });
    release();
    await expect.poll(() => service.metric('recourse_late_results_total{tool="write",ended="returned"}')).toBe(1);
    expect(await session(id)).toMatchObject({ calls: [], tools: [] });
  });
});
