import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { type RunningProcess, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { Queue } from 'bullmq';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { beginCell, type Cell, describeAll, HOLDING, type Lab, makeHolds, startLab, untilTrue } from './deaths-lab.ts';

// Where a call is when each of its workers dies. begun: that is written, and its handler has not run. ended: its handler has.
const POINTS = ['begun', 'ended'] as const;

const DEATHS = 3;

const messageOf = async (service: RunningProcess, { requestId }: Cell): Promise<string> =>
  (await createPendingClient(service.url).finish(requestId)).results[0]?.message ?? '';

const Head = z.object({ begins: z.int() });

const beginsOf = async (lab: Lab, { handle }: Cell): Promise<readonly number[]> => {
  const keys = await lab.recordKeysOf(handle);
  const heads = await Promise.all(keys.map((key) => lab.client.hget(key, 'h')));
  return heads.map((head) => Head.parse(JSON.parse(head ?? '{}')).begins);
};

/** Deletes all jobs of a lane, also those that a worker has. */
const obliterate = async (lab: Lab, lane: string): Promise<void> => {
  const queue = new Queue('jobs', { connection: { url: lab.redis.url }, prefix: `recourse2:{jobs:${lane}:0}` });
  await queue.obliterate({ force: true });
  await queue.resume();
  await queue.close();
};

test('a read whose workers die three times after it began is the fault of its tool, and begins no fourth time', {
  timeout: timeLimit(90_000),
}, async () => {
  const lab = await startLab();
  const service = await lab.startApi();
  const holds = makeHolds();
  const cells = await Promise.all(
    POINTS.map(async (point) => {
      const cell = await beginCell(service, lab, { tool: 'killed_read', name: point });
      holds.hold(cell.handle, point);
      return cell;
    }),
  );
  for (let death = 1; death <= DEATHS; death += 1) {
    const victim = await startWorkerProcess({ by: HOLDING, environment: { ...lab.environment, ...holds.environment } });
    await Promise.all(cells.map(({ handle }) => holds.whenHeld(handle)));
    expect(await Promise.all(cells.map((cell) => beginsOf(lab, cell)))).toEqual([[death], [death]]);
    victim.send('SIGKILL', 'service');
    await victim.exited;
    for (const { handle } of cells) holds.forgetHeld(handle);
    await Promise.all(cells.map(({ handle }) => lab.passLease(handle)));
  }
  await startWorkerProcess({ by: 'node', environment: lab.environment });
  expect(await describeAll(service, lab, cells)).toEqual({
    begun: 'tool_crashed retry maybe, begun 0 times',
    ended: 'tool_crashed retry maybe, begun 3 times',
  });
  for (const cell of cells) {
    expect(await beginsOf(lab, cell)).toEqual([3]);
    expect(await messageOf(service, cell)).toMatch(
      /^Tool 'killed_read' was started 3 times, and each time its worker died\./,
    );
  }
});

test('a call that has not ended and whose job is gone is offered again, and ends once', {
  timeout: timeLimit(90_000),
}, async () => {
  const lab = await startLab();
  const service = await lab.startApi();
  const holds = makeHolds();
  const begin = (tool: string, name: string) => beginCell(service, lab, { tool, name });
  const halves = await Promise.all([begin('killed_write', 'begun write'), begin('killed_read', 'begun read')]);
  for (const { handle } of halves) holds.hold(handle, 'ended');
  const [victim, ...queued] = await Promise.all([
    startWorkerProcess({
      by: HOLDING,
      environment: { ...lab.environment, ...holds.environment, WORKER_LANES: 'killed' },
    }),
    begin('frozen_write', 'queued write'),
    begin('frozen_read', 'queued read'),
  ]);
  const cells = [...halves, ...queued];
  await Promise.all(halves.map(({ handle }) => holds.whenHeld(handle)));
  victim.send('SIGKILL', 'service');
  const jobs = () => Promise.all(cells.map(({ handle }) => lab.hasJob(handle)));
  expect(await jobs()).toEqual([true, true, true, true]);
  await Promise.all([obliterate(lab, 'killed'), obliterate(lab, 'frozen')]);
  expect(await jobs()).toEqual([false, false, false, false]);
  await Promise.all(halves.map(({ handle }) => lab.passLease(handle)));
  await Promise.all([startWorkerProcess({ by: 'node', environment: lab.environment }), lab.passLook()]);
  expect(await describeAll(service, lab, cells)).toEqual({
    'begun write': 'outcome_unknown unknown maybe, begun 1 times',
    'begun read': 'second run, begun 2 times',
    'queued write': 'first run, begun 1 times',
    'queued read': 'first run, begun 1 times',
  });
  await untilTrue(async () => !(await lab.hasJob('c_*')), 'no job is left');
  expect(cells.map(({ name }) => lab.linesOf('end', name))).toEqual([1, 2, 1, 1]);
});
