import { startHostedService } from '@recourse/test-support/hosted-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

const GRACE_MS = 2500;

// Nineteen processes have to start first, on a machine that may be busy.
test('on SIGTERM hosted calls get the grace, the others are cut off, and every batch is answered whole', {
  timeout: timeLimit(90_000),
}, async () => {
  const { running, call, began, tell, allGone } = await startHostedService({
    by: 'node',
    environment: { SHUTDOWN_GRACE_MS: String(GRACE_MS), TOOL_HOSTS_MAX: '24' },
  });
  const pairs = Array.from({ length: 9 }, () => call([{ name: 'until_told' }, { name: 'hang' }]));
  const row = call([{ name: 'until_told' }, { name: 'hang_writing' }, { name: 'note', arguments: { id: 'no' } }], {
    order: 'sequential',
  });
  await began(19);

  const askedAt = performance.now();
  running.send('SIGTERM', 'service');
  await running.logged('draining');
  expect((await fetch(`${running.url}/ready`)).status).toBe(503);
  tell();

  for (const [ended, cut] of await Promise.all(pairs)) {
    expect(ended).toMatchObject({ success: true, value: 'told' });
    expect(cut).toMatchObject({ outcome: 'retry', executed: 'maybe', error: { code: 'cancelled' } });
  }
  expect(await row).toMatchObject([
    { success: true, value: 'told' },
    { outcome: 'refused', executed: 'no', error: { code: 'shutting_down' } },
    { outcome: 'refused', executed: 'no', error: { code: 'shutting_down' } },
  ]);
  expect(await running.exited).toEqual({ code: 0, signal: null });
  expect(performance.now() - askedAt).toBeLessThan(GRACE_MS + timeLimit(2000));
  expect(running.logLines().at(-1)).toMatchObject({ msg: 'stopped' });
  await allGone();
});

test('a write that is cut off at the end of the grace is of unknown outcome', async () => {
  const { running, call, began, allGone } = await startHostedService({
    by: 'node',
    environment: { SHUTDOWN_GRACE_MS: '100' },
  });
  const answer = call([{ name: 'hang_writing' }]);
  await began(1);
  running.send('SIGTERM', 'service');
  expect(await answer).toMatchObject([{ outcome: 'unknown', executed: 'maybe', error: { code: 'cancelled' } }]);
  expect(await running.exited).toEqual({ code: 0, signal: null });
  await allGone();
});

test('what tools started, in their process group and out of it, ends with the service', async () => {
  const { running, call, began, processes, allGone } = await startHostedService({
    by: 'node',
    environment: { SHUTDOWN_GRACE_MS: '100' },
  });
  const finished = await call([{ name: 'beget' }]);
  expect(finished).toMatchObject([{ success: true }]);
  const hanging = call([{ name: 'beget_and_hang' }]);
  await began(1);
  expect(processes.pids().length - processes.hosts().length).toBe(4);
  running.send('SIGTERM', 'service');
  await hanging;
  expect(await running.exited).toEqual({ code: 0, signal: null });
  await allGone();
});

test('a second SIGTERM ends the service at once, with all hosts and what their tools started', async () => {
  const { running, call, began, processes, allGone } = await startHostedService({ by: 'node' });
  await call([{ name: 'beget' }]);
  const lost = Promise.allSettled([call([{ name: 'beget_and_hang' }]), call([{ name: 'spin' }])]);
  await began(2);
  expect(processes.pids().length - processes.hosts().length).toBe(4);
  running.send('SIGTERM', 'service');
  await running.logged('draining');
  const drainingSince = performance.now();
  // One that follows at once counts as the first one, handed on by npm: repeated until it is taken for a second.
  const again = setInterval(() => running.send('SIGTERM', 'service'), 50);
  const exit = await running.exited;
  clearInterval(again);
  expect(exit).toEqual({ code: 1, signal: null });
  // The grace would have been 25 s.
  expect(performance.now() - drainingSince).toBeLessThan(timeLimit(10_000));
  expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await allGone();
});
