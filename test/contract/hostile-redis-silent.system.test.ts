import { measureOutage, RECOVERY } from '@recourse/test-support/counting-service.ts';
import { type OutageService, startOutageService } from '@recourse/test-support/outage-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

// Redis that is there and says nothing: the first batch waits for it, those after it do not.

type Act = (lab: OutageService) => Promise<unknown>;
type Silence = readonly [name: string, begin: Act, end: Act];

const SILENCES: readonly Silence[] = [
  ['stopped (SIGSTOP)', async ({ server }) => server.pause(), async ({ server }) => server.resume()],
  // From these two nobody can wake it: it comes back by itself.
  ['paused (CLIENT PAUSE)', ({ direct }) => direct.client('PAUSE', 3000, 'ALL'), async () => undefined],
  [
    'asleep (DEBUG SLEEP)',
    async ({ direct }) => void direct.call('DEBUG', 'SLEEP', '3').catch(String),
    async () => undefined,
  ],
  ['behind a frozen network', async ({ proxy }) => proxy.freeze(), async ({ proxy }) => proxy.thaw()],
  ['behind a network that loses everything', async ({ proxy }) => proxy.drop(), async ({ proxy }) => proxy.deliver()],
  ['behind a slow network', async ({ proxy }) => proxy.delay(400), async ({ proxy }) => proxy.delay(0)],
];

test.each(SILENCES)('%s: one batch waits for it, those after it do not, none fails', async (_name, begin, end) => {
  const lab = await startOutageService({ settings: ['--enable-debug-command', 'yes'] });
  const { first, later } = await measureOutage(lab, () => begin(lab));
  // Promised are 60 ms and 1 ms; a busy machine takes longer for anything. One that waited for Redis would take 50 ms.
  expect(first).toBeLessThan(timeLimit(600));
  expect(later).toBeLessThan(40);
  expect(await lab.readiness()).toMatchObject({ status: 200, body: { status: 'degraded' } });
  await end(lab);
  expect(await lab.served()).toMatchObject({ retry: { mode: 'redis' } });
  // One slow answer on a busy machine is an outage of its own; the batch after it ends that.
  const ready = async () => (await lab.served()) && lab.readiness();
  await expect.poll(ready, RECOVERY).toMatchObject({ status: 200, body: { status: 'ready' } });
});

test('an outage costs one time-out a second, however many batches come', async () => {
  const lab = await startOutageService();
  await lab.served();
  const before = (await lab.errors())['timeout'] ?? 0;
  lab.server.pause();
  await lab.fail();
  await lab.fail();
  const startedAt = performance.now();
  const timeouts = async (): Promise<number> => {
    await Promise.all(Array.from({ length: 20 }, () => lab.fail()));
    return ((await lab.errors())['timeout'] ?? 0) - before;
  };
  await expect.poll(timeouts, { ...RECOVERY, interval: 1 }).toBeGreaterThanOrEqual(4);
  const seconds = (performance.now() - startedAt) / 1000;
  // Connecting anew is one of them, each time the silent connection has been given up.
  expect(((await lab.errors())['timeout'] ?? 0) - before).toBeLessThanOrEqual(3 + 3 * seconds);
});

test('an answer that comes too late may have been applied: the batch is not sent again', async () => {
  const lab = await startOutageService();
  await lab.served('late');
  const held = lab.proxy.holdAnswers({ word: 'EVALSHA', times: 1, ms: 400 });
  expect((await lab.fail('late')).retry?.mode).toBe('local');
  expect(held()).toBe(1);
  await lab.served();
  // What it reserved there, if it did, is settled by what came of it here: two retries have failed.
  expect(await lab.served('late')).toMatchObject({ retry: { used: 2, remaining: 1 } });
});
