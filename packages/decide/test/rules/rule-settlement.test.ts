import { DEADLINE } from '@recourse/test-support/config-lab.ts';
import { createActor, freshName, whenConnected } from '@recourse/test-support/keyed-client.ts';
import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createBank } from '../bank.ts';
import { CAP, createTools, endsOf, openStore, refundOf, STORES, startRules } from './rules-lab.ts';

const PAY = { ...CAP, name: 'pay_cap', tools: 'pay' };
const LOOK_SOON = { RECONCILE_DELAYS: '50ms' };

type Service = Awaited<ReturnType<typeof startRules>>;
const standOf = async ({ session }: Pick<Service, 'session'>, id: string) => {
  const { used, reserved } = (await session(id)).rules?.[0] ?? {};
  return { used, reserved };
};

describe.each(STORES)('%s', (store) => {
  test.each([
    ['after', { used: '3000', reserved: '0' }],
    ['before', { used: '0', reserved: '0' }],
  ] as const)('a write that is cut off %s its effect stays reserved until it is found out: %j', async (cut, found) => {
    const bank = createBank({ cut, unclear: true });
    const service = await startRules([PAY], [bank.pay], { ...LOOK_SOON, ...(await openStore(store)) });
    const id = freshName();
    const body = { session_id: id, deadline_ms: 300, calls: [{ name: 'pay', arguments: { amount: 3000 } }] };
    expect((await service.post(body, { key: freshName() })).results[0]).toMatchObject({ executed: 'maybe' });
    expect(await standOf(service, id)).toEqual({ used: '0', reserved: '3000' });
    expect(endsOf(await service.post(body))).toEqual(['rule_refused pay_cap']);
    bank.unclear = false;
    await expect.poll(() => standOf(service, id), DEADLINE).toEqual(found);
  });

  test('a pending call keeps what was reserved when it was accepted, and spends it once', async () => {
    const gate = Promise.withResolvers<void>();
    const pay = createActor('pay', { effects: 'write', background: 'optional' }, () => gate.promise.then(() => null));
    const service = await startRules([PAY], [pay], await openStore(store));
    const { begin, finish } = createPendingClient(service.url);
    const id = freshName();
    const body = { session_id: id, calls: [{ name: 'pay', arguments: { amount: 3000 } }] };
    const { requestId } = await begin(body, { headers: { 'idempotency-key': freshName() } });
    await expect.poll(() => pay.asked.length, DEADLINE).toBe(1);
    expect(await standOf(service, id)).toEqual({ used: '0', reserved: '3000' });
    const other = { session_id: id, calls: [{ name: 'pay', arguments: { amount: 2001 } }] };
    expect(endsOf(await service.post(other))).toEqual(['rule_refused pay_cap']);
    gate.resolve();
    expect((await finish(requestId)).results[0]).toMatchObject({ success: true });
    await expect.poll(() => standOf(service, id), DEADLINE).toEqual({ used: '3000', reserved: '0' });
  });

  test('a handler that ends after its answer is spent when it has ended', async () => {
    const gate = Promise.withResolvers<void>();
    const pay = createActor('pay', { effects: 'write', timeoutMs: 50 }, () => gate.promise.then(() => null));
    const service = await startRules([PAY], [pay], await openStore(store));
    const id = freshName();
    const body = { session_id: id, calls: [{ name: 'pay', arguments: { amount: 3000 } }] };
    expect(endsOf(await service.post(body))).toEqual(['timeout']);
    expect(await standOf(service, id)).toEqual({ used: '0', reserved: '3000' });
    gate.resolve();
    await expect.poll(() => standOf(service, id), DEADLINE).toEqual({ used: '3000', reserved: '0' });
  });
});

test('what one replica has spent another refuses, and no name of a record tells a session', async () => {
  const { refund } = createTools();
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const [one, other] = [
    await startRules([CAP], [refund], { REDIS_URL: redis.url }),
    await startRules([CAP], [refund], { REDIS_URL: redis.url }),
  ];
  const session_id = freshName();
  expect(endsOf(await one.post({ session_id, calls: [refundOf(3000)] }))).toEqual(['ok']);
  expect(endsOf(await other.post({ session_id, calls: [refundOf(2001), refundOf(2000)] }))).toEqual([
    'rule_refused refund_cap',
    'ok',
  ]);
  const { Redis } = await import('ioredis');
  const direct = new Redis(redis.url);
  onTestFinished(() => direct.disconnect());
  const keys = await direct.keys('*:rule');
  expect(keys).toHaveLength(1);
  expect(JSON.stringify([keys, await direct.hgetall(keys[0] ?? '')])).not.toContain(session_id);
  expect(await direct.pttl(keys[0] ?? '')).toBeGreaterThan(23 * 3_600_000);
});

test('while the store is away an enforced rule refuses, and one that observes lets pass', async () => {
  const { refund } = createTools();
  const other = createActor('other');
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const observed = { ...CAP, name: 'observed', tools: 'other', mode: 'observe' };
  const service = await startRules([CAP, observed], [refund, other], { REDIS_URL: redis.url });
  const session_id = freshName();
  const calls = [refundOf(1), { name: 'other', arguments: { amount: 9000 } }];
  expect(endsOf(await service.post({ session_id, calls }))).toEqual(['ok', 'ok']);
  await redis.kill();
  expect(endsOf(await service.post({ session_id, calls }))).toEqual(['store_unavailable refund_cap', 'ok']);
  expect(refund.asked).toHaveLength(1);
  const text = await (await fetch(`${service.url}/metrics`)).text();
  expect(text).toContain('recourse_rule_decisions_total{rule="refund_cap",decision="unavailable"} 1');
  expect(text).toContain('recourse_rule_decisions_total{rule="observed",decision="would_refuse"} 1');
  await redis.restart();
  await whenConnected(service);
  expect(endsOf(await service.post({ session_id, calls }))).toEqual(['ok', 'ok']);
});
