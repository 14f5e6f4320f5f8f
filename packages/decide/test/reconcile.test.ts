import { freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBank } from './bank.ts';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

describe.each(['memory', 'redis'] as const)('on %s', (store) => {
  const environmentOf = (more: Readonly<Record<string, string>> = {}) => ({
    RECONCILE_DELAYS: '50ms,100ms,200ms',
    ...(store === 'redis' ? { REDIS_URL: redis.url } : {}),
    ...more,
  });
  const start = (bank: ReturnType<typeof createBank>, more = {}) => startLab([bank.pay], environmentOf(more));

  test('a write whose answer is lost is found, and is a success before its batch is answered', async () => {
    const bank = createBank({ cut: 'after' });
    const { post } = await start(bank);
    const { results } = await post([{ name: 'pay', arguments: { amount: 5 } }], { key: freshName() });
    expect(results[0]).toMatchObject({
      success: true,
      outcome: 'success',
      executed: 'yes',
      value: { amount: 5 },
      reconciled: { by: 'tool', attempts: 1 },
    });
    expect(bank.payments).toHaveLength(1);
  });

  test('a write that was cut before its effect is not executed, and the same key runs it again, with the same effect id', async () => {
    const bank = createBank({ cut: 'before' });
    const { post } = await start(bank);
    const key = freshName();
    const calls = [{ name: 'pay', arguments: { amount: 5 } }];
    const first = await post(calls, { key });
    expect(first.results[0]).toMatchObject({
      outcome: 'retry',
      executed: 'no',
      error: { code: 'tool_exception' },
      reconciled: { by: 'tool' },
    });
    expect(first.results[0]?.message).toContain('It is safe to call it again.');
    bank.cut = 'never';
    const second = await post(calls, { key });
    expect(second.results[0]).toMatchObject({ success: true, value: { amount: 5 } });
    expect(bank.payments).toHaveLength(1);
    expect(new Set(bank.effectIds).size).toBe(1);
    expect((await post(calls, { key })).results[0]).toMatchObject({ success: true, replayed: true });
  });

  test('a check that is unclear until the batch is over goes on, and replaces the kept result', async () => {
    const bank = createBank({ cut: 'after', unclear: true });
    const { post, lost, session } = await start(bank);
    const [key, id] = [freshName(), freshName()];
    const body = { session_id: id, deadline_ms: 400, calls: [{ name: 'pay', arguments: { amount: 5 } }] };
    const first = await post(body, { key });
    expect(first.results[0]).toMatchObject({ outcome: 'unknown', executed: 'maybe' });
    expect(first.results[0]?.message).toContain('A check goes on; ask again under the same key.');
    bank.unclear = false;
    await expect.poll(async () => (await lost(first.requestId)).results[0]?.outcome).toBe('success');
    const again = await post(body, { key });
    expect(again.results[0]).toMatchObject({ success: true, value: { amount: 5 }, reconciled: { by: 'tool' } });
    expect(bank.payments).toHaveLength(1);
    const view = await session(id);
    expect(view.calls[0]).toMatchObject({ outcome: 'unknown', late: { outcome: 'success', executed: 'yes' } });
    expect(view.tools[0]).toMatchObject({ name: 'pay', failures: 0, used: 0 });
  });
});
