import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type RunningProcess, type RunningWorker, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import {
  beginCell,
  beginKept,
  type Cell,
  describeAll,
  EFFECTS,
  HOLDING,
  type Holds,
  type Lab,
  makeHolds,
  startLab,
  toBody,
  untilTrue,
} from './deaths-lab.ts';

/** What the test does to a worker, and the lane whose calls that worker has. */
type Death = 'killed' | 'frozen';

// Where a call is when its worker dies. begun: that is written, and its handler has not run yet. half_way: its handler runs.
// ended: its handler has ended, its result is not kept. committed: it is kept, and the queue does not know.
const POINTS = ['fetched', 'leased', 'begun', 'half_way', 'ended', 'committed'] as const;

const FIRST = 'first run, begun 1 times';
const FIRST_OF_TWO = 'first run, begun 2 times';
const AGAIN = 'second run, begun 2 times';
const UNKNOWN = 'outcome_unknown unknown maybe, begun 1 times';
const UNKNOWN_UNRUN = 'outcome_unknown unknown maybe, begun 0 times';

/** One call for each point, a write and a read, of the lane; queued, for no worker of that lane runs yet. */
const queueCells = (service: RunningProcess, lab: Lab, death: Death, holds: Holds): Promise<readonly Cell[]> =>
  Promise.all(
    POINTS.flatMap((point) =>
      EFFECTS.map(async (effects) => {
        const waitsFor = point === 'half_way' ? holds.go : '';
        const cell = { tool: `${death}_${effects}`, name: `${death} ${point} ${effects}`, waitsFor };
        const begun = await beginCell(service, lab, cell);
        if (point !== 'half_way') holds.hold(begun.handle, point);
        return begun;
      }),
    ),
  );

// A sweep offers a call that is held at `fetched` again each 15 s, for nobody has claimed it, and each offer takes a slot.
const SLOTS = '64';

/** A worker with a call at each point. */
const startVictim = async (lab: Lab, death: Death, holds: Holds, cells: readonly Cell[]): Promise<RunningWorker> => {
  const victim = await startWorkerProcess({
    by: HOLDING,
    environment: { ...lab.environment, ...holds.environment, WORKER_LANES: death, WORKER_CONCURRENCY: SLOTS },
  });
  await Promise.all(
    cells.map(({ name, handle }) =>
      name.includes('half_way')
        ? untilTrue(() => lab.linesOf('begin', name) === 1, `${name} has begun`)
        : holds.whenHeld(handle),
    ),
  );
  return victim;
};

/** Calls whose jobs the worker has acknowledged. One by one: an acknowledgement fetches the next job, and is held with it. */
const acknowledgeCells = async (service: RunningProcess, lab: Lab, death: Death, holds: Holds) => {
  holds.hold('any', 'acknowledged');
  const cells: Cell[] = [];
  for (const effects of EFFECTS) {
    const before = holds.held();
    const name = `${death} acknowledged ${effects}`;
    const body = toBody(lab, `${death}_${effects}`, name);
    // It may have ended before its request is answered, which then names no handle.
    const { requestId } = await beginKept(service, name, body);
    await holds.whenSoManyHeld(before.length + 1);
    const handle = holds.held().find((held) => !before.includes(held)) ?? '';
    cells.push({ name, requestId, handle });
  }
  return cells;
};

const jobsOf = async (lab: Lab, cells: readonly Cell[], point: string): Promise<readonly boolean[]> =>
  Promise.all(cells.filter(({ name }) => name.includes(point)).map(({ handle }) => lab.hasJob(handle)));

type Ends = { readonly write: string; readonly read: string };

const toExpected = (death: Death, begun: Ends, half: Ends) => {
  const whole = { write: FIRST, read: FIRST };
  const ends = {
    fetched: whole,
    leased: whole,
    begun,
    half_way: half,
    ended: half,
    committed: whole,
    acknowledged: whole,
  };
  return Object.fromEntries(
    Object.entries(ends).flatMap(([point, { write, read }]) => [
      [`${death} ${point} write`, write],
      [`${death} ${point} read`, read],
    ]),
  );
};

test('a worker that dies or freezes at any step doubles no write, and every call of it ends', {
  timeout: timeLimit(90_000),
}, async () => {
  const lab = await startLab();
  const service = await lab.startApi();
  const [ofKilled, ofFrozen] = [makeHolds(), makeHolds()];
  const [killed, frozen] = await Promise.all([
    queueCells(service, lab, 'killed', ofKilled),
    queueCells(service, lab, 'frozen', ofFrozen),
  ]);
  const [dying, sleeping] = await Promise.all([
    startVictim(lab, 'killed', ofKilled, killed),
    startVictim(lab, 'frozen', ofFrozen, frozen),
  ]);
  const acknowledged = (
    await Promise.all([
      acknowledgeCells(service, lab, 'killed', ofKilled),
      acknowledgeCells(service, lab, 'frozen', ofFrozen),
    ])
  ).flat();
  const all = [...killed, ...frozen, ...acknowledged];
  dying.send('SIGKILL', 'service');
  sleeping.send('SIGSTOP', 'service');
  expect(await jobsOf(lab, all, 'committed')).toEqual([true, true, true, true]);
  expect(await jobsOf(lab, all, 'acknowledged')).toEqual([false, false, false, false]);
  await startWorkerProcess({ by: 'node', environment: lab.environment });
  const ofDead = [
    { write: UNKNOWN_UNRUN, read: FIRST },
    { write: UNKNOWN, read: AGAIN },
  ] as const;
  expect(await describeAll(service, lab, all)).toEqual({
    ...toExpected('killed', ...ofDead),
    ...toExpected('frozen', ...ofDead),
  });
  // What the frozen worker says when it wakes up replaces only what nobody knew.
  writeFileSync(ofFrozen.go, '');
  sleeping.send('SIGCONT', 'service');
  const late = frozen.filter(({ name }) => /(begun|half_way|ended) write/.test(name));
  await untilTrue(async () => {
    const ends = await describeAll(service, lab, late);
    return Object.values(ends).every((end) => end === FIRST);
  }, 'late ends replace those that nobody knew');
  // Whatever else it wanted to do is over by now.
  await pause(1500);
  expect(await describeAll(service, lab, all)).toEqual({
    ...toExpected('killed', ...ofDead),
    // A read that had begun runs in both workers; the result of the second stands.
    ...toExpected('frozen', { write: FIRST, read: FIRST_OF_TWO }, { write: FIRST, read: AGAIN }),
  });
});
