import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { handOn } from '#src/message-limits.ts';
import { createLinePace } from '#src/stdio-transport.ts';

const answerOf = (result: Readonly<Record<string, unknown>>) => ({ jsonrpc: '2.0', id: 7, result }) as const;

test('an answer whose parts would choke the SDK ends its own call as too large', () => {
  const heard: unknown[] = [];
  const content = Array.from({ length: 300_000 }, () => ({}));
  expect(handOn(answerOf({ content }), (message) => heard.push(message))).toBe('too_heavy');
  expect(heard).toEqual([
    {
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32_000, message: '', data: { recourseStandIn: 'too_large' } },
    },
  ]);
});

test('what the SDK does not read, a large answer or a long list of tools, is handed on', () => {
  const heard: unknown[] = [];
  const rows = Array.from({ length: 100_000 }, (_, n) => n);
  expect(handOn(answerOf({ content: [], answer: { rows } }), (message) => heard.push(message))).toBe('taken');
  expect(heard).toHaveLength(1);
});

test('a heavy notification is dropped, for nobody waits for it', () => {
  const heard: unknown[] = [];
  const params = { progressToken: 1, progress: 1, junk: Array.from({ length: 10_000 }, () => ({})) };
  expect(handOn({ jsonrpc: '2.0', method: 'notifications/progress', params }, (message) => heard.push(message))).toBe(
    'too_heavy',
  );
  expect(heard).toEqual([]);
});

const createLab = (take: (line: string) => boolean) => {
  const events: string[] = [];
  const pace = createLinePace({
    take,
    pause: () => events.push('pause'),
    resume: () => events.push('resume'),
    flooded: (why) => events.push(why),
  });
  const settled = () => expect.poll(() => events.at(-1), { timeout: timeLimit(15_000) }).toBe('resume');
  return { pace, events, settled };
};

test('lines are taken in order, and the server waits meanwhile', async () => {
  const taken: string[] = [];
  const { pace, events, settled } = createLab((line) => taken.push(line) > 0);
  const lines = Array.from({ length: 250 }, (_, n) => `line ${n}`);
  for (const line of lines) pace(line);
  await settled();
  expect(taken).toEqual(lines);
  expect(events).toEqual(['pause', 'resume']);
});

test('other work gets its turn between the lines', async () => {
  let taken = 0;
  const { pace, settled } = createLab(() => {
    taken += 1;
    return true;
  });
  for (let n = 0; n < 4_000; n += 1) pace('line');
  await new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));
  expect(taken).toBeLessThan(timeLimit(4_000));
  await settled();
  expect(taken).toBe(4_000);
});

test('a server that keeps babbling is given up', async () => {
  const { pace, events, settled } = createLab(() => false);
  for (let n = 0; n < 1_001; n += 1) pace('y');
  await settled();
  expect(events).toContain('it keeps writing lines that are not MCP messages');
});
