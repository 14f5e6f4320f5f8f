import { join } from 'node:path';
import { createFolder, DEADLINE } from '@recourse/test-support/config-lab.ts';
import { createActor, freshName, whenConnected } from '@recourse/test-support/keyed-client.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { expect, onTestFinished, test } from 'vitest';
import { prefer, startApprovals } from './approvals-lab.ts';

const ASK = { rules: [{ tools: 'pay', decide: 'ask' }] };
const pay = (amount: number) => ({ name: 'pay', arguments: { amount } });

/** Two services that share a Redis, and the ledger of both. */
const startReplicas = async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const actor = createActor('pay', { effects: 'write', background: 'optional' });
  const start = () => startApprovals(ASK, [actor.tool], { REDIS_URL: redis.url });
  const [one, other] = await Promise.all([start(), start()]);
  await Promise.all([whenConnected(one), whenConnected(other)]);
  return { one, other, actor, redis };
};

test('a grant is claimed once, whichever replica its calls reach', async () => {
  const { one, other, actor } = await startReplicas();
  const session_id = freshName();
  const asked = await Promise.all([one, other, one].map(({ post }) => post({ session_id, calls: [pay(5)] })));
  const approvals = asked.map(({ results }) => results[0]?.error?.approval);
  expect(new Set(approvals.map((approval) => approval?.id)).size).toBe(1);
  const { id = '', digest = '' } = approvals[0] ?? {};
  const decided = await Promise.all(
    [one, other].map(({ ask }) => ask(`/approvals/${id}`, { body: { decision: 'approve' }, digest })),
  );
  expect(decided.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  const calls = await Promise.all(
    Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? one : other).post({ session_id, calls: [pay(5)] })),
  );
  expect(calls.filter(({ results }) => results[0]?.success)).toHaveLength(1);
  expect(actor.asked).toEqual([{ amount: 5 }]);
});

test('a pending call runs once, where another replica than its own hears of the approval', async () => {
  const { one, other, actor } = await startReplicas();
  const { request_id: requestId, results } = await prefer(one.url, {
    session_id: freshName(),
    calls: [pay(5), pay(6)],
  });
  const [first, second] = results.map(({ pending }) => pending.approval);
  await other.ask(`/approvals/${first?.id}`, { body: { decision: 'approve' }, digest: first?.digest ?? '' });
  await one.ask(`/approvals/${second?.id}`, { body: { decision: 'deny' }, digest: second?.digest ?? '' });
  await expect
    .poll(async () => (await other.lost(requestId)).results.map(({ error }) => error?.code ?? 'ok'), DEADLINE)
    .toEqual(['ok', 'approval_denied']);
  expect(actor.asked).toEqual([{ amount: 5 }]);
});

test('while the store is away nothing runs that a person has to approve', async () => {
  const { one, actor, redis } = await startReplicas();
  const session_id = freshName();
  const call = async () => (await one.post({ session_id, calls: [pay(5)] })).results[0];
  const { id = '', digest = '' } = (await call())?.error?.approval ?? {};
  await one.ask(`/approvals/${id}`, { body: { decision: 'approve' }, digest });
  await redis.stop();
  expect(await call()).toMatchObject({ outcome: 'refused', executed: 'no', error: { code: 'store_unavailable' } });
  expect(actor.asked).toEqual([]);
});

test('in a file an approval outlives its process, with what is sealed in it', async () => {
  const actor = createActor('pay', { effects: 'write', background: 'optional' });
  const STORE = `sqlite:${join(await createFolder(), 'records.db')}`;
  const start = () => startApprovals(ASK, [actor.tool], { STORE });
  const first = await start();
  const { request_id: requestId, results } = await prefer(first.url, { session_id: freshName(), calls: [pay(5)] });
  const session_id = freshName();
  const asked = (await first.post({ session_id, calls: [pay(6)] })).results[0]?.error?.approval;
  await first.service.stop();
  const second = await start();
  for (const approval of [results[0]?.pending.approval, asked])
    await second.ask(`/approvals/${approval?.id}`, { body: { decision: 'approve' }, digest: approval?.digest ?? '' });
  expect((await second.post({ session_id, calls: [pay(6)] })).results[0]).toMatchObject({ success: true });
  await expect.poll(async () => (await second.lost(requestId)).results[0]?.success, DEADLINE).toBe(true);
  expect(actor.asked.toSorted((a, b) => Number(a['amount']) - Number(b['amount']))).toEqual([
    { amount: 5 },
    { amount: 6 },
  ]);
});
