import { RECOVERY } from '@recourse/test-support/counting-service.ts';
import { type OutageService, startOutageService } from '@recourse/test-support/outage-service.ts';
import { expect, test } from 'vitest';

// What the whole service says and does while its store is away. How a store goes away is the matter of
// test/contract/hostile-redis-*.test.ts.

const STORE_UP = 'recourse_session_store_up';
const DEGRADED = { status: 200, body: { status: 'degraded', store: { kind: 'redis', status: 'down' } } };
const READY = { status: 200, body: { status: 'ready', store: { kind: 'redis', status: 'up' } } };

const startAway = async (policy: string): Promise<OutageService> => {
  const lab = await startOutageService({ environment: { RETRY_BUDGET_ON_STORE_DOWN: policy } });
  await lab.served();
  lab.proxy.refuse();
  lab.proxy.cut();
  await expect.poll(() => lab.service.metric(STORE_UP), RECOVERY).toBe(0);
  return lab;
};

test('an outage is said by /ready, metric, log and every answer, and is over when Redis is back', async () => {
  const lab = await startOutageService();
  await lab.served('a');
  await expect.poll(lab.readiness, RECOVERY).toMatchObject(READY);
  expect(await lab.service.metric(STORE_UP)).toBe(1);
  lab.proxy.refuse();
  lab.proxy.cut();
  await expect.poll(lab.readiness, RECOVERY).toMatchObject(DEGRADED);
  expect(await lab.service.metric(STORE_UP)).toBe(0);
  for (const used of [1, 2, 3])
    expect(await lab.fail('a')).toMatchObject({ retry: { mode: 'local', used, remaining: 3 - used } });
  expect((await lab.fail('a')).error?.code).toBe('retry_budget_exhausted');
  await lab.proxy.accept();
  await expect.poll(lab.readiness, RECOVERY).toMatchObject(READY);
  // Redis knows of what was counted here meanwhile.
  expect(await lab.fail('a')).toMatchObject({
    error: { code: 'retry_budget_exhausted' },
    retry: { mode: 'redis', used: 3 },
  });
  const changes = lab.service.logLines().filter(({ msg }) => msg === 'session store availability changed');
  expect(changes.slice(-2)).toMatchObject([
    { level: 40, state: 'down' },
    { level: 30, state: 'up' },
  ]);
});

test('policy closed: calls are refused with store_unavailable, and batches without a session run', async () => {
  const lab = await startAway('closed');
  const before = lab.runs();
  expect(await lab.fail('b')).toMatchObject({
    outcome: 'refused',
    executed: 'no',
    error: { code: 'store_unavailable' },
    retry: null,
  });
  expect(lab.runs()).toBe(before);
  const [alone] = await lab.service.call([{ name: 'failing', arguments: { attempt: 0 } }]);
  expect(alone).toMatchObject({ error: { code: 'retry_requested' }, retry: { scope: 'request' } });
});

test('policy open: calls run as often as they like, and retry is null', async () => {
  const lab = await startAway('open');
  for (let round = 0; round < 6; round += 1)
    expect(await lab.fail('c')).toMatchObject({ error: { code: 'retry_requested' }, retry: null });
});
