import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { openPool, type ScriptedPool } from './scripted-pool.ts';

/** Every host that is starting or loading does, and every host that is killed ends. No time passes. */
const goOn = async ({ living, end, pause }: ScriptedPool): Promise<void> => {
  for (let round = 0; round < 40; round += 1) {
    for (const scripted of living()) {
      if (scripted.host.isEnding) end(scripted);
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
  lab.living()[0]?.setPendingWork('1');
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
  const pending = lab.living().find(({ host }) => host === first.taken?.host);
  pending?.setPendingWork('1');
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
  const unusable = lab.living().find(({ host }) => host === first.taken?.host);
  unusable?.makeUnusable();
  lab.end(unusable);
  await goOn(lab);
  const next = [...lab.pool.members].find(({ group }) => group === 'own 1');
  expect(next?.loaded.size).toBe(1);
  expect(lab.pool.tryAcquire(a, { isAlone: false, company: '' })).toBe(next);
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

test('a file that made its host unusable has hosts of its own, until it has behaved for ten minutes', async () => {
  const lab = openPool(3);
  const [a, b] = [await lab.load(), await lab.load()];
  await goOn(lab);
  const first = lab.obtain(a);
  await goOn(lab);
  const unusable = lab.living().find(({ host }) => host === first.taken?.host);
  lab.finish(first);
  unusable?.makeUnusable();
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
  lab.living()[0]?.setPendingWork('1');
  lab.living()[1]?.setPendingWork('1');
  lab.living()[2]?.setPendingWork('1');
  for (const file of files) lab.obtain(file, true);
  for (let n = 0; n < 5; n += 1) lab.pool.tidy();
  expect(lab.living().filter(({ host }) => host.isEnding).length).toBeLessThanOrEqual(1);
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
