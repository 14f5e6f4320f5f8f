import { expect, test } from 'vitest';
import { SlotCounts } from '#src/queue/slot-counts.ts';
import { createSlotLab, inlineTool } from './slot-lab.ts';

const createCounts = () =>
  new SlotCounts({
    maxConcurrentCalls: 100,
    callerConcurrency: 100,
    toolConcurrency: 100,
    maxHostedCalls: 100,
    now: () => 0,
  });

test('tools that nobody calls any more are forgotten once there are too many, and what is busy stays', () => {
  const counts = createCounts();
  const [idle, running, waiting] = ['idle', 'running', 'waiting'].map((name) => inlineTool(name));
  if (idle === undefined || running === undefined || waiting === undefined) throw new Error('There are no tools.');
  const before = {
    idle: counts.toolQueueOf(idle),
    running: counts.toolQueueOf(running),
    waiting: counts.toolQueueOf(waiting),
  };
  counts.acquire(running, before.running, counts.callerOf('a'));
  before.waiting.waiting += 1;
  for (let place = 0; place < 1021; place += 1) counts.toolQueueOf(inlineTool(`tool_${place}`));
  expect(counts.toolQueueOf(idle)).toBe(before.idle);
  counts.toolQueueOf(inlineTool('one_more'));
  expect(counts.toolQueueOf(idle)).not.toBe(before.idle);
  expect(counts.toolQueueOf(running)).toBe(before.running);
  expect(counts.toolQueueOf(waiting)).toBe(before.waiting);
});

test('a tool whose limit is reached keeps it while thousands of others come and go', () => {
  const { slots, story, want, release } = createSlotLab();
  const narrow = inlineTool('narrow', 1);
  want('a1', narrow, 'a');
  want('a2', narrow, 'a');
  for (let place = 0; place < 5000; place += 1) {
    const tool = inlineTool(`tool_${place}`);
    want(`${place}`, tool, 'b');
    release(tool, 'b');
  }
  expect(slots.tryTake(narrow, 'c')).toBe(false);
  expect(story).toEqual([]);
  release(narrow, 'a');
  expect(story).toEqual(['a2 taken']);
  release(narrow, 'a');
  expect(slots.isIdle()).toBe(true);
});
