import { expect, test } from 'vitest';
import { createSlotLab, inlineTool } from './slot-lab.ts';

const search = inlineTool('search');

/** A tool that has taken `durationMs` thirty times. */
const learned = (
  lab: ReturnType<typeof createSlotLab>,
  tool: ReturnType<typeof inlineTool>,
  durationMs: number,
): void => {
  for (let call = 0; call < 30; call += 1) lab.slots.learn(tool, durationMs, 'by_itself');
};

test('a call whose time is over when its turn comes does not start', () => {
  const { story, want, release, advance } = createSlotLab({ maxConcurrentCalls: 1 });
  want('a0', search, 'a');
  want('a1', search, 'a', { endsAt: 50 });
  want('a2', search, 'a');
  advance(50);
  release(search, 'a');
  expect(story).toEqual(['a1 deadline', 'a2 taken']);
});

test('a call with less time left than its tool usually takes does not start, once that is known', () => {
  const lab = createSlotLab({ maxConcurrentCalls: 1 });
  lab.want('a0', search, 'a');
  for (let call = 0; call < 19; call += 1) lab.slots.learn(search, 100, 'by_itself');
  lab.want('a1', search, 'a', { endsAt: 50 });
  lab.release(search, 'a');
  expect(lab.story).toEqual(['a1 taken']);
  lab.slots.learn(search, 100, 'by_itself');
  lab.want('a2', search, 'a', { endsAt: 200 });
  lab.advance(150);
  lab.want('a3', search, 'a', { endsAt: 500 });
  lab.release(search, 'a');
  expect(lab.story).toEqual(['a1 taken', 'a2 deadline', 'a3 taken']);
});

test('calls that were cut off do not teach how long a tool usually takes', () => {
  const lab = createSlotLab({ maxConcurrentCalls: 1 });
  lab.want('a0', search, 'a');
  for (let call = 0; call < 50; call += 1) lab.slots.learn(search, 30_000, 'cut_off');
  lab.want('a1', search, 'a', { endsAt: 1000 });
  expect(lab.story).toEqual([]);
});

test('a call that wants to be cut off early needs no more time than that', () => {
  const lab = createSlotLab({ maxConcurrentCalls: 1 });
  lab.want('a0', search, 'a');
  learned(lab, search, 1000);
  lab.want('a1', search, 'a', { endsAt: 100, timeoutMs: 50 });
  lab.want('a2', search, 'a', { endsAt: 100, timeoutMs: 500 });
  expect(lab.story).toEqual(['a2 deadline']);
});

test('a call that could not get its turn in time is dropped at once, and told when to come again', () => {
  const lab = createSlotLab({ maxConcurrentCalls: 2 });
  learned(lab, search, 100);
  lab.want('a0', search, 'a');
  lab.want('a0', search, 'a');
  for (let call = 1; call <= 20; call += 1) lab.want(`a${call}`, search, 'a');
  // Twenty are ahead of it and two run at a time, 100 ms each: a second, and its own time.
  lab.want('late', search, 'a', { endsAt: 900 });
  lab.want('early', search, 'a', { endsAt: 2000 });
  // Of another caller only one is ahead of the next: they take turns.
  lab.want('other', search, 'b', { endsAt: 900 });
  expect(lab.story).toEqual(['late deadline']);
  expect(lab.retryAfterMs).toEqual([1000]);
});

test('nobody is made to wait for a tool that has given back no slot for twice its time limit', () => {
  const lab = createSlotLab();
  const hanging = inlineTool('hanging', 1, 10_000);
  lab.want('a0', hanging, 'a');
  lab.slots.answered('a');
  lab.advance(20_000);
  lab.want('a1', hanging, 'a', { endsAt: 80_000 });
  expect(lab.story).toEqual([]);
  lab.advance(1);
  lab.want('a2', hanging, 'a', { endsAt: 80_000 });
  expect(lab.story).toEqual(['a2 deadline']);
  lab.slots.ended(hanging);
  lab.want('a3', hanging, 'a', { endsAt: 80_000 });
  expect(lab.story).toEqual(['a2 deadline', 'a1 taken']);
});

test('a limit that narrows beneath the calls that run is no sign that they hang', () => {
  const lab = createSlotLab();
  lab.advance(100_000);
  for (let call = 0; call < 20; call += 1) lab.want(`a${call}`, inlineTool('search', 30), 'a');
  lab.want('next', inlineTool('search', 10), 'b');
  expect(lab.story).toEqual([]);
});

test('without anything learned a dropped call is asked to come again after a second', () => {
  const lab = createSlotLab({ maxConcurrentCalls: 1, maxQueuedCalls: 0 });
  lab.want('a0', search, 'a');
  lab.want('a1', search, 'a');
  expect(lab.retryAfterMs).toEqual([1000]);
  expect(lab.slots.retryAfterMs()).toBe(1000);
});
