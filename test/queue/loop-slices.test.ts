import { expect, test } from 'vitest';
import type { Tool } from '#src/tools/tool.ts';
import { createSlotLab, inlineTool, type SlotLab } from './slot-lab.ts';

/** A call that computes from its first to its last millisecond. */
const runAtOnce = (lab: SlotLab, tool: Tool, ms: number): void => {
  lab.compute(ms);
  lab.slots.learn(tool, ms, 'at_once');
  lab.release(tool, 'a');
};

/** A call that waits and computes at its end, alone in its turn. */
const runAfterWait = (lab: SlotLab, tool: Tool, waitMs: number, computeMs: number): void => {
  lab.slots.tryTake(tool, 'a');
  lab.slots.gaveWay(tool, 0, lab.now());
  lab.advance(waitMs);
  lab.compute(computeMs);
  lab.slots.learn(tool, waitMs + computeMs, 'by_itself');
  lab.release(tool, 'a');
  lab.endTurn();
};

const takenOf = (lab: SlotLab, tool: Tool, calls: number): number =>
  Array.from({ length: calls }, () => lab.slots.tryTake(tool, 'a')).filter((isTaken) => isTaken).length;

test('after 50 ms of work in one turn calls of every tool wait for the next, which starts as many as fit', () => {
  const lab = createSlotLab();
  const spin = inlineTool('spin');
  for (let call = 0; call < 5; call += 1) {
    lab.want(`first ${call}`, spin, 'a');
    expect(lab.story).toEqual([]);
    runAtOnce(lab, spin, 10);
  }
  for (const call of [1, 2, 3, 4, 5, 6]) lab.want(`s${call}`, spin, 'a');
  lab.want('other', inlineTool('other'), 'b');
  expect(lab.story).toEqual([]);
  lab.endTurn();
  expect(lab.story).toEqual(['s1 taken', 'other taken', 's2 taken', 's3 taken', 's4 taken', 's5 taken']);
  lab.endTurn();
  expect(lab.story).toHaveLength(7);
});

test('a call that was let in and does not run takes nothing of its turn', () => {
  const lab = createSlotLab();
  const spin = inlineTool('spin');
  for (let call = 0; call < 25; call += 1) {
    lab.slots.tryTake(spin, 'a');
    runAtOnce(lab, spin, 20);
    lab.endTurn();
  }
  expect(takenOf(lab, spin, 5)).toBe(3);
  for (const _ of [1, 2, 3]) {
    lab.slots.gaveUp(spin);
    lab.release(spin, 'a');
  }
  expect(takenOf(lab, spin, 5)).toBe(3);
});

test('of a tool that computes after it waited, as many calls run at once as keep the event loop busy', () => {
  const lab = createSlotLab();
  const search = inlineTool('search');
  for (let call = 0; call < 60; call += 1) runAfterWait(lab, search, 40, 10);
  // (2 x 50 ms that a call takes + 50 ms that may stand ready) / 10 ms, where the learned 10 ms are 10 % off at most.
  const taken = takenOf(lab, search, 100);
  expect(taken).toBeGreaterThanOrEqual(14);
  expect(taken).toBeLessThanOrEqual(17);
});

test('a tool that only waits runs as many calls as its limit allows, however long the turns of others are', () => {
  const lab = createSlotLab();
  const wait = inlineTool('wait');
  for (let call = 0; call < 60; call += 1) runAfterWait(lab, wait, 1000, 0.1);
  expect(takenOf(lab, wait, 200)).toBe(100);
});

test('a burst is not narrowed by the first call, whose code has to be compiled', () => {
  const lab = createSlotLab();
  const wait = inlineTool('wait');
  lab.slots.tryTake(wait, 'a');
  lab.compute(50);
  lab.slots.gaveWay(wait, 50, lab.now());
  lab.advance(1000);
  lab.compute(20);
  lab.slots.learn(wait, 1070, 'by_itself');
  lab.release(wait, 'a');
  lab.endTurn();
  for (let call = 0; call < 100; call += 1) {
    expect(lab.slots.tryTake(wait, 'a')).toBe(true);
    lab.compute(0.3);
    lab.slots.gaveWay(wait, 0.3, lab.now());
  }
});

test('calls that take little do not fill a turn, and are no reason to wait after one that took long; those that take long again are', () => {
  const lab = createSlotLab();
  const quick = inlineTool('quick');
  const runOne = (ms: number): void => {
    expect(lab.slots.tryTake(quick, 'a')).toBe(true);
    runAtOnce(lab, quick, ms);
  };
  for (let call = 0; call < 30; call += 1) runOne(0.1);
  runOne(45);
  for (let call = 0; call < 1000; call += 1) runOne(0.1);
  runOne(10);
  expect(lab.slots.tryTake(quick, 'a')).toBe(false);
});

test('a call whose turn would come too late, for those ahead of it compute, is refused at once', () => {
  const lab = createSlotLab();
  const spin = inlineTool('spin');
  for (let turn = 0; turn < 6; turn += 1) {
    for (let call = 0; call < 5; call += 1) {
      lab.slots.tryTake(spin, 'a');
      runAtOnce(lab, spin, 10);
    }
    lab.endTurn();
  }
  for (let call = 0; call < 5; call += 1) {
    lab.slots.tryTake(spin, 'a');
    runAtOnce(lab, spin, 10);
  }
  // 30 and more calls of 10 ms, and 1.2 times that for what the guess misses: the 31st is not in time within 400 ms.
  for (let call = 1; call <= 40; call += 1) lab.want(`s${call}`, spin, 'a', { endsAt: 350 + 400 });
  expect(lab.story).toEqual(expect.arrayContaining(['s40 deadline']));
  expect(lab.story).not.toContain('s20 deadline');
  expect(lab.slots.takeStartCounts().dropped).toBeGreaterThan(0);
});
