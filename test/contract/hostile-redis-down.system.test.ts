import { measureOutage, RECOVERY } from '@recourse/test-support/counting-service.ts';
import { type OutageService, startOutageService } from '@recourse/test-support/outage-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

// Redis that is not there: from the start, or from one moment to the next.

const DEGRADED = { status: 200, body: { status: 'degraded', store: { kind: 'redis', status: 'down' } } };
const READY = { status: 200, body: { status: 'ready', store: { kind: 'redis', status: 'up' } } };

test('down at start: the service serves, says that it is degraded, and finds Redis by itself once it is there', async () => {
  const lab = await startOutageService({ before: async ({ proxy }) => proxy.refuse() });
  await expect.poll(lab.readiness, RECOVERY).toMatchObject(DEGRADED);
  expect(await lab.service.metric('recourse_session_store_up')).toBe(0);
  expect(await lab.fail('a')).toMatchObject({ outcome: 'retry', retry: { mode: 'local', used: 0, remaining: 3 } });
  expect(await lab.fail('a')).toMatchObject({ outcome: 'retry', retry: { mode: 'local', used: 1, remaining: 2 } });
  await lab.proxy.accept();
  await expect.poll(lab.readiness, RECOVERY).toMatchObject(READY);
  // It is there as it was here.
  expect(await lab.served('a')).toMatchObject({ retry: { used: 2, remaining: 1 } });
  expect(await lab.service.metric('recourse_session_store_up')).toBe(1);
  expect(await lab.errors()).toEqual({ connection: expect.any(Number) });
});

const LOSSES: readonly (readonly [
  string,
  (lab: OutageService) => Promise<void>,
  (lab: OutageService) => Promise<void>,
])[] = [
  ['reset', async ({ proxy }) => proxy.cut(), async () => undefined],
  [
    'refused',
    async ({ proxy }) => {
      proxy.refuse();
      proxy.cut();
    },
    ({ proxy }) => proxy.accept(),
  ],
  ['killed', ({ server }) => server.kill(), ({ server }) => server.restart()],
];

test.each(LOSSES)('%s: no batch waits or fails, and Redis is used again once it is back', async (_name, lose, mend) => {
  const lab = await startOutageService();
  const { first, later } = await measureOutage(lab, () => lose(lab));
  // Promised are 5 ms and 1 ms; a busy machine takes longer for anything.
  expect(first).toBeLessThan(timeLimit(600));
  expect(later).toBeLessThan(10);
  await mend(lab);
  await lab.served();
  await expect.poll(lab.readiness, RECOVERY).toMatchObject(READY);
});

test('lost while batches settle: each is answered for what it did', async () => {
  const lab = await startOutageService();
  await lab.served();
  const before = lab.runs();
  lab.proxy.delay(10);
  const batches = Promise.all(Array.from({ length: 20 }, () => lab.fail()));
  await expect.poll(lab.runs, { ...RECOVERY, interval: 1 }).toBeGreaterThan(before);
  lab.proxy.cut();
  lab.proxy.delay(0);
  for (const result of await batches)
    expect(result).toMatchObject({ outcome: 'retry', error: { code: 'retry_requested' }, retry: { remaining: 3 } });
  expect(lab.runs()).toBe(before + 20);
  await lab.served();
});

test('killed and restarted empty: it serves throughout, and the session goes on as this replica knows it', async () => {
  const lab = await startOutageService();
  await lab.served('b');
  for (let retry = 1; retry <= 3; retry += 1) await lab.served('b');
  expect((await lab.served('b')).error?.code).toBe('retry_budget_exhausted');
  await lab.server.kill();
  await expect.poll(lab.readiness, RECOVERY).toMatchObject(DEGRADED);
  const blocked = { error: { code: 'retry_budget_exhausted' }, retry: { used: 3, remaining: 0 } };
  expect(await lab.fail('b')).toMatchObject({ ...blocked, retry: { mode: 'local' } });
  await lab.server.restart();
  expect(await lab.served('b')).toMatchObject({ ...blocked, retry: { mode: 'redis' } });
});

test('what is blocked in an outage stays blocked when Redis is back', async () => {
  const lab = await startOutageService();
  await lab.served();
  await lab.server.kill();
  await expect.poll(lab.readiness, RECOVERY).toMatchObject(DEGRADED);
  for (let round = 0; round < 4; round += 1) await lab.fail('c');
  expect((await lab.fail('c')).error?.code).toBe('retry_budget_exhausted');
  await lab.server.restart();
  expect(await lab.served('c')).toMatchObject({ error: { code: 'retry_budget_exhausted' }, retry: { mode: 'redis' } });
});

test('a cool-down that began before an outage ends in it', async () => {
  const lab = await startOutageService({ environment: { SESSION_BUDGET_COOLDOWN_SECONDS: '3' } });
  while ((await lab.served('d')).error?.code !== 'retry_budget_exhausted');
  await lab.server.kill();
  const codeNow = async () => (await lab.fail('d')).error?.code;
  await expect.poll(codeNow, RECOVERY).toBe('retry_requested');
});
