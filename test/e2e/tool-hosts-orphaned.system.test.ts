import { startHostedService } from '@recourse/test-support/hosted-service.ts';
import { expect, test } from 'vitest';

test('when the service is killed its hosts end: idle, hanging and spinning ones', async () => {
  const { running, call, began, processes, allGone } = await startHostedService({ by: 'node' });
  const lost = Promise.allSettled([call([{ name: 'hang' }]), call([{ name: 'spin' }]), call([{ name: 'spin' }])]);
  await began(3);
  await call([{ name: 'note', arguments: { id: 'x' } }]);
  expect(processes.hosts().length).toBeGreaterThanOrEqual(4);
  running.send('SIGKILL', 'service');
  expect(await running.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await allGone();
  await lost;
});

test('when the service is killed, what tools started ends too', async () => {
  const { running, call, began, processes, allGone } = await startHostedService({ by: 'node' });
  await call([{ name: 'beget' }]);
  const lost = Promise.allSettled([call([{ name: 'beget_and_hang' }])]);
  await began(1);
  expect(processes.pids().length - processes.hosts().length).toBe(4);
  running.send('SIGKILL', 'service');
  await running.exited;
  await allGone();
  await lost;
});

test('when the service ends by a bug of its own, its hosts and what tools started end with it', async () => {
  const throwing = "process.on('SIGUSR2',()=>{throw new Error('a bug')})";
  const { running, call, began, allGone } = await startHostedService({
    by: 'node',
    environment: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(throwing)}` },
  });
  await call([{ name: 'beget' }]);
  const lost = Promise.allSettled([call([{ name: 'beget_and_hang' }]), call([{ name: 'spin' }])]);
  await began(2);
  running.send('SIGUSR2', 'service');
  expect(await running.exited).toEqual({ code: 1, signal: null });
  expect(running.stderr()).toContain('recourse: uncaught exception: a bug\n');
  await allGone();
  await lost;
});
