import { expect, test } from 'vitest';
import { createSlotLab, hostedTool, inlineTool } from './slot-lab.ts';

const search = inlineTool('search');
const fetch = inlineTool('fetch');

test('as many calls run as the service allows, and the next one waits for the first that is answered', () => {
  const { slots, story, want, release } = createSlotLab({ maxConcurrentCalls: 2 });
  want('a1', search, 'a');
  want('a2', fetch, 'a');
  want('a3', search, 'a');
  expect(story).toEqual([]);
  expect(slots.isIdle()).toBe(false);
  release(fetch, 'a');
  expect(story).toEqual(['a3 taken']);
  release(search, 'a');
  release(search, 'a');
  expect(slots.isIdle()).toBe(true);
});

test('a handler that goes on after its answer keeps the slot of its tool and not that of the service', () => {
  const { slots, story, want } = createSlotLab({ maxConcurrentCalls: 1 });
  const hanging = inlineTool('hanging', 1);
  want('a1', hanging, 'a');
  slots.answered('a');
  expect(slots.tryTake(search, 'a')).toBe(true);
  want('a2', hanging, 'a');
  slots.answered('a');
  expect(story).toEqual([]);
  slots.ended(hanging);
  expect(story).toEqual(['a2 taken']);
});

test('a call that waits for its tool holds up no other tool', () => {
  const { slots, want } = createSlotLab({ maxQueuedCalls: 3 });
  const hanging = inlineTool('hanging', 1);
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) want(name, hanging, 'a');
  expect(slots.tryTake(search, 'a')).toBe(true);
  expect(slots.isFullFor('a')).toBe(false);
});

test('a hosted tool that says nothing gets what others get, and all hosted ones together no more than their hosts take', () => {
  const { slots } = createSlotLab({ maxHostedCalls: 5, toolConcurrency: 2 });
  const [one, two, three] = [hostedTool('one'), hostedTool('two'), hostedTool('three')];
  expect([1, 2, 3].map(() => slots.tryTake(one, 'a'))).toEqual([true, true, false]);
  expect([1, 2, 3].map(() => slots.tryTake(two, 'a'))).toEqual([true, true, false]);
  expect([1, 2].map(() => slots.tryTake(three, 'a'))).toEqual([true, false]);
  slots.answered('a');
  expect(slots.tryTake(three, 'a')).toBe(false);
  slots.ended(one);
  expect(slots.tryTake(three, 'a')).toBe(true);
});

test('a hosted tool may ask for more than its hosts take, and gets what they take', () => {
  const greedy = createSlotLab({ maxHostedCalls: 4 }).slots;
  const tool = hostedTool('greedy', 9);
  expect([1, 2, 3, 4, 5].map(() => greedy.tryTake(tool, 'a'))).toEqual([true, true, true, true, false]);
  const single = createSlotLab({ maxHostedCalls: 1 }).slots;
  expect([1, 2].map(() => single.tryTake(hostedTool('modest'), 'a'))).toEqual([true, false]);
});

test('one caller leaves slots for others, and its further calls wait for its own', () => {
  const { slots, story, want, release } = createSlotLab({ maxConcurrentCalls: 4, callerConcurrency: 3 });
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) want(name, search, 'a');
  expect(story).toEqual([]);
  expect(slots.tryTake(search, 'b')).toBe(true);
  want('b2', search, 'b');
  release(search, 'b');
  expect(story).toEqual(['b2 taken']);
  release(search, 'a');
  expect(story).toEqual(['b2 taken', 'a4 taken']);
});

test('however many callers are at their limit, the one behind them that is not has its turn', () => {
  const { story, want, release } = createSlotLab({ maxConcurrentCalls: 13, callerConcurrency: 1 });
  const callers = Array.from({ length: 12 }, (_, place) => `c${place}`);
  for (const caller of [...callers, 'last', ...callers]) want(caller, search, caller);
  want('next', search, 'next');
  expect(story).toEqual([]);
  release(search, 'last');
  expect(story).toEqual(['next taken']);
});

test('a caller nearly all of whose calls are dropped in a turn that lasts is refused at the door, but for one batch in sixteen, and no other is', () => {
  const { slots, want, advance, endTurn } = createSlotLab({ maxQueuedCalls: 1 });
  const hanging = inlineTool('hanging', 1);
  for (let call = 0; call < 500; call += 1) want(`early${call}`, hanging, 'a');
  endTurn();
  want('first', hanging, 'a');
  expect(slots.isFullFor('a')).toBe(false);
  advance(101);
  for (let call = 0; call < 160; call += 1) want(`a${call}`, hanging, 'a');
  expect(Array.from({ length: 32 }, () => slots.isFullFor('a')).filter((isFull) => isFull)).toHaveLength(30);
  expect(slots.isFullFor('b')).toBe(false);
  advance(251);
  expect(slots.isFullFor('a')).toBe(false);
  want('later', hanging, 'a');
  expect(slots.isFullFor('a')).toBe(false);
});

test('a caller one in eight of whose calls is started is not refused at the door', () => {
  const { slots, want, release, advance } = createSlotLab({ maxQueuedCalls: 1 });
  const hanging = inlineTool('hanging', 1);
  for (const name of ['runs', 'waits', 'dropped']) want(name, hanging, 'a');
  advance(101);
  for (let call = 0; call < 400; call += 1) {
    want(`a${call}`, hanging, 'a');
    expect(slots.isFullFor('a')).toBe(false);
    if (call % 8 > 0) continue;
    want('other', search, 'a');
    release(search, 'a');
  }
});

test('a caller at its limit with a full queue of its own calls is refused at the door, and no other is', () => {
  const { slots, want } = createSlotLab({ maxConcurrentCalls: 9, callerConcurrency: 1, maxQueuedCalls: 2 });
  for (const name of ['a1', 'a2', 'a3']) want(name, search, 'a');
  expect([slots.isFullFor('a'), slots.isFullFor('b')]).toEqual([true, false]);
});

test("a call that its caller's own calls keep from running in time is dropped at once", () => {
  const { slots, story, want } = createSlotLab({ callerConcurrency: 1 });
  for (let call = 0; call < 20; call += 1) slots.learn(search, 1000, 'by_itself');
  want('a1', search, 'a', { endsAt: 4500 });
  want('a2', search, 'a', { endsAt: 4500 });
  want('a3', search, 'a', { endsAt: 4500 });
  want('a4', search, 'a', { endsAt: 4500 });
  want('a5', search, 'a', { endsAt: 4500 });
  expect(story).toEqual(['a5 deadline']);
});

test('a new version of a tool brings its own limit, and what runs of the old one still counts', () => {
  const { slots } = createSlotLab();
  slots.tryTake(inlineTool('search', 1), 'a');
  const renewed = inlineTool('search', 2);
  expect([1, 2].map(() => slots.tryTake(renewed, 'a'))).toEqual([true, false]);
});

test('a caller that floods does not delay the single call of another one', () => {
  const { story, want, release } = createSlotLab({ maxConcurrentCalls: 2 });
  for (let call = 1; call <= 50; call += 1) want(`flood${call}`, search, 'flood');
  want('single', search, 'b');
  release(search, 'flood');
  expect(story).toEqual(['single taken']);
});

test('two callers that always want more get the same share, however long their calls are', () => {
  const { story, want, release } = createSlotLab({ maxConcurrentCalls: 8 });
  for (let call = 1; call <= 40; call += 1) want(`long${call}`, search, 'long');
  for (let call = 1; call <= 40; call += 1) want(`short${call}`, search, 'short');
  // The long calls do not end: only what the first eight give back is there to share.
  for (let ended = 0; ended < 4; ended += 1) release(search, 'long');
  expect(story).toEqual(['short1 taken', 'short2 taken', 'short3 taken', 'short4 taken']);
  for (let ended = 0; ended < 10; ended += 1) release(search, 'short');
  expect(story.slice(4)).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14].map((call) => `short${call} taken`));
});

test('the calls of one caller for one tool run in the order they came', () => {
  const { story, want, release } = createSlotLab({ maxConcurrentCalls: 1 });
  for (const name of ['a0', 'a1', 'a2', 'a3']) want(name, search, 'a');
  for (let ended = 0; ended < 3; ended += 1) release(search, 'a');
  expect(story).toEqual(['a1 taken', 'a2 taken', 'a3 taken']);
});

test('who has stopped waiting is not called, and its turn is the next one’s', () => {
  const { story, want, release } = createSlotLab({ maxConcurrentCalls: 1 });
  want('a0', search, 'a');
  const stop = want('a1', search, 'a');
  want('a2', search, 'a');
  stop();
  stop();
  release(search, 'a');
  stop();
  expect(story).toEqual(['a2 taken']);
});

test('a full queue drops the newest call of the caller that has most in it, or the newcomer that would have most', () => {
  const { story, want } = createSlotLab({ maxConcurrentCalls: 1, maxQueuedCalls: 4 });
  for (const name of ['a0', 'a1', 'a2', 'a3', 'a4']) want(name, search, 'a');
  want('a5', search, 'a');
  want('b1', search, 'b');
  want('c1', search, 'c');
  want('d1', search, 'd');
  // Now everybody has as much as everybody else: who comes last goes.
  want('e1', search, 'e');
  expect(story).toEqual(['a5', 'a4', 'a3', 'a2', 'e1'].map((name) => `${name} queue_full`));
});

test('within one caller a full queue drops from the longest line: one hanging tool keeps no other from waiting', () => {
  const { story, want, release } = createSlotLab({ maxConcurrentCalls: 2, maxQueuedCalls: 3 });
  const hanging = inlineTool('hanging', 1);
  for (const name of ['h0', 'h1', 'h2', 'h3']) want(name, hanging, 'a');
  want('s0', search, 'a');
  want('s1', search, 'a');
  expect(story).toEqual(['h3 queue_full']);
  release(search, 'a');
  expect(story).toEqual(['h3 queue_full', 's1 taken']);
});

test('without a queue nothing waits', () => {
  const { slots, story, want } = createSlotLab({ maxConcurrentCalls: 1, maxQueuedCalls: 0 });
  expect(slots.isFullFor('b')).toBe(false);
  want('a0', search, 'a');
  want('b0', search, 'b');
  expect(story).toEqual(['b0 queue_full']);
  expect(slots.isFullFor('b')).toBe(true);
});

test('a full queue is full for the callers that hold their share of it, and for no other', () => {
  const { slots, want } = createSlotLab({ maxConcurrentCalls: 1, maxQueuedCalls: 4 });
  want('a0', search, 'a');
  for (const name of ['a1', 'a2', 'a3']) want(name, search, 'a');
  want('b1', search, 'b');
  expect([slots.isFullFor('a'), slots.isFullFor('b'), slots.isFullFor('c')]).toEqual([true, false, false]);
});

test('ten thousand callers leave nothing behind that slows the next one down', () => {
  const { slots, story, want, release } = createSlotLab({ maxConcurrentCalls: 1, maxQueuedCalls: 20_000 });
  want('first', search, 'first');
  for (let caller = 0; caller < 10_000; caller += 1) want(`${caller}`, search, `caller_${caller}`);
  release(search, 'first');
  for (let caller = 0; caller < 10_000; caller += 1) release(search, `caller_${caller}`);
  expect(story).toEqual(Array.from({ length: 10_000 }, (_, caller) => `${caller} taken`));
  expect(slots.isIdle()).toBe(true);
});
