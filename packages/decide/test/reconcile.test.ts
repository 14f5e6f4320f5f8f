import { createActor, freshName, startLab } from '@recourse/test-support/keyed-client.ts';

import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { DEADLINE, NEW_SECRET, startReceiver } from '@recourse/test-support/webhook-lab.ts';
import { didNotHappen, happened } from 'recourse-server';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBank } from './bank.ts';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const STORES = {
  memory: () => ({}),
  sqlite: () => ({ STORE: `sqlite:${makeDirectory({}).root}/store.db` }),
  redis: () => ({ REDIS_URL: redis.url }),
} as const;

describe.each(['memory', 'sqlite', 'redis'] as const)('on %s', (store) => {
  const environmentOf = (more: Readonly<Record<string, string>> = {}) => ({
    RECONCILE_DELAYS: '50ms,100ms,200ms',
    ...STORES[store](),
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

  test('a handler that is cut off at its time limit, and ends, can do no more: its batch learns that it did not happen', async () => {
    const cutOff: Parameters<typeof createActor>[2] = (_input, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const rest = { effects: 'write', timeoutMs: 50, reconcile: () => didNotHappen() } as const;
    const { post } = await startLab([createActor('pay', rest, cutOff)], environmentOf());
    const { results } = await post([{ name: 'pay', arguments: {} }], { key: freshName() });
    expect(results[0]).toMatchObject({ outcome: 'retry', executed: 'no', reconciled: { by: 'tool' } });
  });

  test('a repeat in the process whose handler goes on does not take its run for over', async () => {
    const gate = Promise.withResolvers<void>();
    let [runs, paid] = [0, 0];
    const { tool } = createActor(
      'pay',
      { effects: 'write', timeoutMs: 150, reconcile: () => (paid > 0 ? happened({ paid }) : didNotHappen()) },
      async () => {
        runs += 1;
        await gate.promise;
        paid += 1;
        return { paid };
      },
    );
    const { post } = await startLab([{ tool }], environmentOf());
    const key = freshName();
    const body = { deadline_ms: 600, calls: [{ name: 'pay', arguments: {} }] };
    const first = await post(body, { key });
    expect(first.results[0]).toMatchObject({ outcome: 'unknown', executed: 'maybe' });
    const again = await post(body, { key });
    expect(again.results[0]).toMatchObject({ outcome: 'unknown', executed: 'maybe' });
    gate.resolve();
    await expect.poll(async () => (await post(body, { key })).results[0]?.outcome).toBe('success');
    expect([runs, paid]).toEqual([1, 1]);
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

  test('a pending call that ended as unknown gets another result, of which its webhook endpoint is told', async () => {
    const receiver = await startReceiver();
    const ops = { url: receiver.url, secret: NEW_SECRET, events: ['tool_call.reconciled'], privateAddresses: 'allow' };
    const { root } = makeDirectory({ 'recourse.config.json': JSON.stringify({ webhooks: { ops } }) });
    const bank = createBank({ cut: 'after', unclear: true }, { background: 'optional' });
    // Later than a worker waits: the call ends as unknown at once.
    const lab = await start(bank, { CONFIG_FILE: `${root}/recourse.config.json`, RECONCILE_DELAYS: '1h' });
    const { begin, finish } = createPendingClient(lab.service.url);
    const { requestId } = await begin({ notify: 'ops', calls: [{ name: 'pay', arguments: { amount: 5 } }] });
    expect((await finish(requestId)).results[0]).toMatchObject({
      outcome: 'unknown',
      error: { effect_id: bank.effectIds[0] },
    });
    bank.unclear = false;
    const looked = await fetch(`${lab.service.url}/tool-calls/${requestId}/calls/0/reconcile`, { method: 'POST' });
    expect(await looked.json()).toMatchObject({ state: 'settled', verdict: 'happened' });
    expect((await finish(requestId)).results[0]).toMatchObject({ success: true, reconciled: { by: 'tool' } });
    await expect.poll(() => receiver.received.length, DEADLINE).toBe(1);
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
      type: 'tool_call.reconciled',
      data: { request_id: requestId, index: 0, tool: 'pay', outcome: 'success', executed: 'yes', code: null },
    });
    expect(bank.payments).toHaveLength(1);
  });
});
