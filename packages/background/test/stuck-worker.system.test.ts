import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type RunningWorker, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { beginCell, type Lab, startLab, untilTrue } from './deaths-lab.ts';

const startWorker = (lab: Lab, lane: string, environment: Readonly<Record<string, string>>): Promise<RunningWorker> =>
  startWorkerProcess({
    by: 'test/support/stuck-process.ts',
    environment: { ...lab.environment, WORKER_LANES: lane, WORKER_CONCURRENCY: '1', ...environment },
  });

test('a worker that takes no jobs for a minute although jobs wait ends itself, and no other does', {
  timeout: timeLimit(60_000),
}, async () => {
  const lab = await startLab();
  const never = join(lab.files.root, 'never');
  const [service, stuck, idle, busy] = await Promise.all([
    lab.startApi(),
    startWorker(lab, 'killed', { STUCK_BY: lab.ledger }),
    // It asks for no job either, but none waits in its lane.
    startWorker(lab, 'frozen', { STUCK_BY: lab.ledger }),
    startWorker(lab, 'default', {}),
  ]);
  await Promise.all([
    beginCell(service, lab, { tool: 'killed_write', name: 'waits for the stuck one' }),
    beginCell(service, lab, { tool: 'other_write', name: 'runs', waitsFor: never }),
  ]);
  await untilTrue(() => lab.linesOf('begin', 'runs') === 1, 'the busy one is busy');
  await beginCell(service, lab, { tool: 'other_write', name: 'waits for the busy one', waitsFor: never });
  const ended: string[] = [];
  for (const [name, { exited }] of Object.entries({ stuck, idle, busy })) void exited.then(() => ended.push(name));
  const passFortySeconds = (): void => {
    for (const worker of [stuck, idle, busy]) worker.send('SIGUSR2', 'service');
  };
  passFortySeconds();
  await pause(500);
  expect(ended).toEqual([]);
  passFortySeconds();
  expect(await stuck.exited).toEqual({ code: 1, signal: null });
  expect(stuck.logLines().at(-1)).toMatchObject({
    msg: 'worker takes no jobs although jobs wait: exiting',
    lanes: [{ lane: 'killed', waiting: 1 }],
  });
  // The others have looked ten times.
  await pause(1000);
  expect(ended).toEqual(['stuck']);
});
