import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ToolFile } from '#src/tools/tool.ts';
import { MAX_HOSTS, openPool, type ScriptedPool } from './scripted-pool.ts';

type Step = readonly [what: string, at: number];

const STEPS: Readonly<Record<string, (lab: ScriptedPool, at: number) => unknown>> = {
  obtain: ({ files, pick, obtain }, at) => {
    const file = pick(files, at);
    if (file !== undefined) obtain(file);
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
  load: ({ living, pick }, at) => pick(living(), at)?.load('loaded'),
  fail: ({ living, pick }, at) => pick(living(), at)?.load('failed'),
  end: ({ living, pick, end }, at) => end(pick(living(), at)),
  reap: ({ living, end }) => {
    for (const scripted of living()) if (scripted.host.isEnding()) end(scripted);
  },
  wait: ({ state }, at) => {
    state.now += at * 50;
  },
  tidy: ({ pool }) => pool.tidy(),
  retire: ({ pool, files, pick }, at) => {
    const file = pick(files, at);
    if (file !== undefined && files.length > 1) pool.retire(file);
  },
  file: ({ files, load }) => (files.length < 5 ? load() : undefined),
};

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Everything that is under way comes to its end, as it does in time. */
const bringToRest = async ({ living, running, finish, end, state, pool }: ScriptedPool): Promise<void> => {
  for (let round = 0; round < 60; round += 1) {
    for (const scripted of living()) scripted.load('loaded');
    await pause();
    for (const call of running()) finish(call);
    for (const scripted of living()) if (scripted.host.isEnding()) end(scripted);
    await pause();
    state.now += 1000;
    pool.tidy();
  }
};

const step = fc.tuple(fc.constantFrom('obtain', 'obtain', 'obtain', ...Object.keys(STEPS)), fc.nat(40));

const play = async (steps: readonly Step[]): Promise<ScriptedPool> => {
  const lab = openPool();
  await lab.load();
  await lab.load();
  for (const [what, at] of steps) {
    await STEPS[what]?.(lab, at);
    await pause();
  }
  return lab;
};

test('whatever happens, every call that waits is told once: a host of its own, or why there is none', async () => {
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

test('whatever happened before, after the end all processes are killed, none starts and nobody is left waiting', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const lab = await play(steps);
      lab.state.closed = true;
      lab.pool.killAll();
      const empty = lab.pool.whenEmpty();
      expect(lab.living().filter(({ host }) => !host.isEnding())).toEqual([]);
      await bringToRest(lab);
      await empty;
      expect(lab.pool.members.size).toBe(0);
      expect(lab.faults).toEqual([]);
      expect(lab.asked.filter(({ stopped, ends }) => !stopped && ends !== 1)).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

/** Every host that is starting loads and every host that is killed ends, until nothing happens. No time passes. */
const goOn = async ({ living, end }: ScriptedPool): Promise<void> => {
  for (let round = 0; round < 12; round += 1) {
    for (const scripted of living()) {
      if (scripted.host.isEnding()) end(scripted);
      else scripted.load('loaded');
    }
    await pause();
  }
};

/** A pool with one loaded file for each name. */
const openLoaded = async (
  names: readonly string[],
  maxHosts?: number,
): Promise<{ lab: ScriptedPool; files: ToolFile[] }> => {
  const lab = openPool(maxHosts);
  for (const _name of names) await lab.load();
  return { lab, files: lab.files };
};

test('a call that finds the pool full gets a host as soon as another file leaves one idle', async () => {
  const { lab, files } = await openLoaded(['a', 'b']);
  const [a, b] = files;
  if (a === undefined || b === undefined) throw new Error('There are no files.');
  for (let n = 0; n < 3; n += 1) lab.obtain(a);
  await goOn(lab);
  expect(lab.running()).toHaveLength(3);
  lab.obtain(b);
  await goOn(lab);
  expect(lab.asked[3]?.ends).toBe(0);
  lab.finish(lab.asked[0]);
  await goOn(lab);
  expect(lab.asked[3]?.taken?.hosts.file).toBe(b);
  expect(lab.running()).toHaveLength(3);
  expect(lab.faults).toEqual([]);
});

test('one waiting call makes one idle host give way, however often the pool looks', async () => {
  const { lab, files } = await openLoaded(['a', 'b']);
  const [a, b] = files;
  if (a === undefined || b === undefined) throw new Error('There are no files.');
  for (let n = 0; n < 3; n += 1) lab.obtain(a);
  await goOn(lab);
  for (const call of lab.running()) lab.finish(call);
  lab.obtain(b);
  for (let n = 0; n < 5; n += 1) lab.pool.tidy();
  expect(lab.living().filter(({ host }) => host.isEnding())).toHaveLength(1);
});

test('where only a few may start at once, the next starts as soon as one has started', async () => {
  const { lab, files } = await openLoaded(['a'], 40);
  const [a] = files;
  if (a === undefined) throw new Error('There is no file.');
  for (let n = 0; n < 20; n += 1) lab.obtain(a);
  // Two at a time on a small machine, and 19 to start.
  await goOn(lab);
  expect(lab.running()).toHaveLength(20);
  expect(lab.faults).toEqual([]);
});

test('more files than hosts there may be are loaded, and leave no more hosts than that', async () => {
  const { lab } = await openLoaded(['a', 'b', 'c', 'd', 'e']);
  await goOn(lab);
  expect(lab.pool.members.size).toBe(3);
});

test('the idle hosts of a version that is gone end at once, busy ones after their call', async () => {
  const { lab, files } = await openLoaded(['a', 'b']);
  const [a, b] = files;
  if (a === undefined || b === undefined) throw new Error('There are no files.');
  lab.obtain(a);
  lab.obtain(a);
  await goOn(lab);
  lab.finish(lab.asked[0]);
  lab.pool.retire(a);
  const ofA = (): boolean[] => lab.living().flatMap(({ hosts, host }) => (hosts.file === a ? [host.isEnding()] : []));
  expect(ofA().sort()).toEqual([false, true]);
  lab.finish(lab.asked[1]);
  expect(ofA()).toEqual([true, true]);
});
