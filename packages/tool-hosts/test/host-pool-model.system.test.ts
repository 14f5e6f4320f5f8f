import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_HOSTS, openPool, type ScriptedPool } from './scripted-pool.ts';

type Step = readonly [what: string, at: number];

const STEPS: Readonly<Record<string, (lab: ScriptedPool, at: number) => unknown>> = {
  obtain: ({ files, pick, obtain }, at) => {
    const file = pick(files, at);
    if (file !== undefined) obtain(file, at % 7 === 0);
  },
  stop: ({ asked, pick }, at) => {
    const waiting = pick(
      asked.filter(({ ends, stopped }) => ends === 0 && !stopped),
      at,
    );
    if (waiting === undefined) return;
    waiting.stopped = true;
    waiting.stop();
  },
  finish: ({ running, pick, finish }, at) => finish(pick(running(), at)),
  start: ({ living, pick }, at) => pick(living(), at)?.start(),
  load: ({ living, pick }, at) => pick(living(), at)?.load('loaded'),
  fail: ({ living, pick }, at) => pick(living(), at)?.load('failed'),
  makeUnusable: ({ living, pick }, at) => pick(living(), at)?.makeUnusable(),
  pendingWork: ({ living, pick }, at) => pick(living(), at)?.setPendingWork(String((at % 4) + 1)),
  quiet: ({ living, pick }, at) => pick(living(), at)?.setPendingWork(null),
  end: ({ living, pick, end }, at) => end(pick(living(), at)),
  reap: ({ living, end }) => {
    for (const scripted of living()) if (scripted.host.isEnding) end(scripted);
  },
  wait: ({ state }, at) => {
    state.now += at * 50;
  },
  tidy: ({ pool }) => pool.tidy(),
  retire: ({ pool, files, pick }, at) => {
    const file = pick(files, at);
    if (file !== undefined && files.length > 1) pool.retire(file);
  },
};

/** Everything that is under way comes to its end, as it does in time. */
const bringToRest = async ({ living, running, finish, end, state, pool, pause }: ScriptedPool): Promise<void> => {
  for (let round = 0; round < 60; round += 1) {
    for (const scripted of living()) {
      scripted.start();
      scripted.load('loaded');
      scripted.setPendingWork(null);
    }
    await pause();
    for (const call of running()) finish(call);
    for (const scripted of living()) if (scripted.host.isEnding) end(scripted);
    await pause();
    state.now += 1000;
    pool.tidy();
  }
};

const step = fc.tuple(fc.constantFrom('obtain', 'obtain', 'obtain', ...Object.keys(STEPS)), fc.nat(40));

const play = async (steps: readonly Step[]): Promise<ScriptedPool> => {
  const lab = openPool();
  for (let n = 0; n < 4; n += 1) await lab.load();
  for (const [what, at] of steps) {
    await STEPS[what]?.(lab, at);
    await lab.pause();
  }
  return lab;
};

test('whatever happens, every call that waits is told once: a seat among calls of its file, or why there is none', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const lab = await play(steps);
      await bringToRest(lab);
      const ends = lab.asked.filter(({ stopped }) => !stopped).map((call) => call.ends);
      expect(ends.filter((count) => count !== 1)).toEqual([]);
      expect(lab.asked.filter(({ stopped, ends: count }) => stopped && count > 0)).toEqual([]);
      expect(lab.faults).toEqual([]);
      expect(lab.pool.members.size).toBeLessThanOrEqual(MAX_HOSTS);
    }),
    { numRuns: 200 },
  );
});

test('whatever happened before, after the end all processes are killed, none starts and no call is left waiting', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const lab = await play(steps);
      lab.state.closed = true;
      lab.pool.killAll();
      const empty = lab.pool.whenEmpty();
      expect(lab.living().filter(({ host }) => !host.isEnding)).toEqual([]);
      await bringToRest(lab);
      await empty;
      expect(lab.pool.members.size).toBe(0);
      expect(lab.faults).toEqual([]);
      expect(lab.asked.filter(({ stopped, ends }) => !stopped && ends !== 1)).toEqual([]);
    }),
    { numRuns: 100 },
  );
});
