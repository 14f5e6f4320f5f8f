import { availableParallelism } from 'node:os';
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
  spoil: ({ living, pick }, at) => pick(living(), at)?.spoil(),
  unrest: ({ living, pick }, at) => pick(living(), at)?.setUnrest(String((at % 4) + 1)),
  quiet: ({ living, pick }, at) => pick(living(), at)?.setUnrest(null),
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
};

/** Everything that is under way comes to its end, as it does in time. */
const bringToRest = async ({ living, running, finish, end, state, pool, pause }: ScriptedPool): Promise<void> => {
  for (let round = 0; round < 60; round += 1) {
    for (const scripted of living()) {
      scripted.start();
      scripted.load('loaded');
      scripted.setUnrest(null);
    }
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

/** Every host that is starting or loading does, and every host that is killed ends. No time passes. */
const goOn = async ({ living, end, pause }: ScriptedPool): Promise<void> => {
  for (let round = 0; round < 40; round += 1) {
    for (const scripted of living()) {
      if (scripted.host.isEnding()) end(scripted);
      scripted.start();
      scripted.load('loaded');
    }
    await pause();
  }
};

test('a file whose calls never pause gives its host to another file that waits, and then has its turn again', async () => {
  const lab = openPool(1);
  const [a, b] = [await lab.load(), await lab.load()];
  await goOn(lab);
  const first = lab.obtain(a);
  await goOn(lab);
  const waiting = lab.obtain(b);
  const later = lab.obtain(a);
  await goOn(lab);
  expect([first, waiting, later].map(({ taken }) => taken !== null)).toEqual([true, false, false]);
  lab.finish(first);
  await goOn(lab);
  expect([waiting, later].map(({ taken }) => taken !== null)).toEqual([true, false]);
  lab.finish(waiting);
  await goOn(lab);
  expect(later.taken).not.toBeNull();
  expect(lab.faults).toEqual([]);
});

test('sixteen calls of a file run in one host before another is sought, and more where there is none', async () => {
  const lab = openPool(2);
  const file = await lab.load();
  await goOn(lab);
  for (let n = 0; n < 16; n += 1) lab.obtain(file);
  expect(new Set(lab.running().map(({ taken }) => taken)).size).toBe(1);
  for (let n = 0; n < 40; n += 1) lab.obtain(file);
  expect(lab.running()).toHaveLength(56);
  await goOn(lab);
  // The first of these has the other host load the file.
  for (let n = 0; n < 2; n += 1) {
    lab.obtain(file);
    await goOn(lab);
  }
  expect(new Set(lab.running().map(({ taken }) => taken)).size).toBe(2);
});

test('a host in which something goes on serves its own file, and no other', async () => {
  const lab = openPool(1);
  const [a, b] = [await lab.load(), await lab.load()];
  await goOn(lab);
  const first = lab.obtain(a);
  await goOn(lab);
  lab.finish(first);
  lab.living()[0]?.setUnrest('1');
  const own = lab.obtain(a);
  expect(own.taken).not.toBeNull();
  lab.finish(own);
  const other = lab.obtain(b);
  expect(other.taken).toBeNull();
  await goOn(lab);
  // By another process: the first made way.
  expect(lab.started).toHaveLength(3);
  expect(lab.living()).toHaveLength(1);
});

test('a host in which something goes on beneath a stream of calls becomes its file’s own after ten seconds', async () => {
  const lab = openPool(3);
  const [a, b] = [await lab.load(), await lab.load()];
  await goOn(lab);
  const first = lab.obtain(a);
  await goOn(lab);
  const restless = lab.living().find(({ host }) => host === first.taken?.host);
  restless?.setUnrest('1');
  lab.state.now += 10_000;
  lab.pool.tidy();
  expect(first.taken?.group).toBe('shared ');
  lab.state.now += 1;
  lab.pool.tidy();
  expect(first.taken?.group).toBe('own 1');
  const other = lab.obtain(b);
  await goOn(lab);
  expect(other.taken?.group).toBe('shared ');
});

test('the next host of a file with hosts of its own has loaded it before it is called', async () => {
  const lab = openPool(3);
  const a = await lab.load();
  await goOn(lab);
  const first = lab.obtain(a);
  await goOn(lab);
  const spoiled = lab.living().find(({ host }) => host === first.taken?.host);
  spoiled?.spoil();
  lab.end(spoiled);
  await goOn(lab);
  const next = [...lab.pool.members].find(({ group }) => group === 'own 1');
  expect(next?.loaded.size).toBe(1);
  expect(lab.pool.takeSeat(a, false)).toBe(next);
});

test('a host that was asked to make way serves its file again when the call that waited has gone', async () => {
  const lab = openPool(1);
  const [a, b] = [await lab.load(), await lab.load()];
  await goOn(lab);
  lab.obtain(a);
  await goOn(lab);
  const waiting = lab.obtain(b);
  const later = lab.obtain(a);
  await goOn(lab);
  expect(later.taken).toBeNull();
  waiting.stopped = true;
  waiting.stop();
  lab.pool.serve();
  expect(later.taken).not.toBeNull();
});

test('a call that must run alone holds up none of its file that need not', async () => {
  const lab = openPool(2);
  const a = await lab.load();
  await goOn(lab);
  const first = lab.obtain(a);
  // It waits for the other host, which has not started.
  const alone = lab.obtain(a, true);
  const beside = lab.obtain(a);
  expect([alone.taken, beside.taken === first.taken]).toEqual([null, true]);
});

test('a file that spoiled its host has hosts of its own, until it has behaved for ten minutes', async () => {
  const lab = openPool(3);
  const [a, b] = [await lab.load(), await lab.load()];
  await goOn(lab);
  const first = lab.obtain(a);
  await goOn(lab);
  const spoiled = lab.living().find(({ host }) => host === first.taken?.host);
  lab.finish(first);
  spoiled?.spoil();
  await goOn(lab);
  const [ofA, ofB] = [lab.obtain(a), lab.obtain(b)];
  await goOn(lab);
  expect([ofA.taken?.group, ofB.taken?.group]).toEqual(['own 1', 'shared ']);
  lab.finish(ofA);
  lab.state.now += 600_001;
  lab.finish(lab.obtain(a));
  await goOn(lab);
  const again = lab.obtain(a);
  await goOn(lab);
  expect(again.taken?.group).toBe('shared ');
});

test('where only a few may start at once, the next starts as soon as one has started', async () => {
  const lab = openPool(40);
  const file = await lab.load();
  for (let n = 0; n < 20; n += 1) lab.obtain(file, true);
  lab.state.now += 100;
  lab.pool.serve();
  await goOn(lab);
  expect(lab.running()).toHaveLength(20);
  expect(lab.faults).toEqual([]);
});

test('beyond two hosts a core another one starts only for a file whose calls have waited for 100 ms', async () => {
  const lab = openPool(40);
  const busy = Math.max(4, 2 * availableParallelism());
  const file = await lab.load();
  for (let n = 0; n <= busy; n += 1) lab.obtain(file, true);
  await goOn(lab);
  lab.state.now += 99;
  lab.pool.serve();
  await goOn(lab);
  expect(lab.running()).toHaveLength(busy);
  lab.state.now += 1;
  lab.pool.serve();
  await goOn(lab);
  expect(lab.running()).toHaveLength(busy + 1);
});

test('calls that crowd the hosts of their file do not start more of them than two a core', async () => {
  const lab = openPool(40);
  const busy = Math.max(4, 2 * availableParallelism());
  const file = await lab.load();
  for (let n = 0; n < 40 * busy; n += 1) {
    lab.obtain(file);
    await goOn(lab);
  }
  lab.state.now += 1000;
  lab.pool.serve();
  await goOn(lab);
  expect([lab.living().length, lab.running().length]).toEqual([busy, 40 * busy]);
});

test('a call that waits makes one idle host give way, however often the pool looks', async () => {
  const lab = openPool(3);
  const files = [await lab.load(), await lab.load()];
  for (const file of files) {
    for (const call of [1, 2, 3].map(() => lab.obtain(file, true))) {
      await goOn(lab);
      lab.finish(call);
    }
  }
  lab.living()[0]?.setUnrest('1');
  lab.living()[1]?.setUnrest('1');
  lab.living()[2]?.setUnrest('1');
  for (const file of files) lab.obtain(file, true);
  for (let n = 0; n < 5; n += 1) lab.pool.tidy();
  expect(lab.living().filter(({ host }) => host.isEnding()).length).toBeLessThanOrEqual(1);
});

test('a file with a line of calls lets other files have their turn between them', async () => {
  const lab = openPool(1);
  const [first, second] = [await lab.load(), await lab.load()];
  for (const file of [first, first, first, second]) lab.obtain(file, true);
  const order: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    await goOn(lab);
    for (const call of lab.running()) {
      order.push(call.file === first ? 'first' : 'second');
      lab.finish(call);
    }
  }
  expect(order).toEqual(['first', 'second', 'first', 'first']);
});

test('a host that is never without calls takes no more once it has answered as many as it may', async () => {
  const lab = openPool(1);
  const file = await lab.load();
  const [first, second] = [lab.obtain(file), lab.obtain(file)];
  await goOn(lab);
  for (let n = 0; n < 40; n += 1) lab.living()[0]?.answer();
  lab.finish(first);
  const third = lab.obtain(file);
  await lab.pause();
  expect([second.taken === null, third.taken === null]).toEqual([false, true]);
});
