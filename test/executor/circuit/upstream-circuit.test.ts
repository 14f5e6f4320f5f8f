import { createCircuitLab, createTool, ENDS, settled } from '@recourse/test-support/circuit-lab.ts';
import { expect, test } from 'vitest';

const upstream = { name: 'mcp:files', concurrency: 8 };
const read = createTool('files_read', { upstream });
const write = createTool('files_write', { upstream, effects: 'write' });
const other = createTool('notes_read', { upstream: { name: 'mcp:notes', concurrency: 8 } });

test('faults of any of its tools open the one circuit of an upstream, for all of them and for nobody else', async () => {
  const { changes, run, refusal } = createCircuitLab({ failures: 3 });
  await run(read, ['fault']);
  await run(write, ['fault']);
  expect(refusal(read)).toBe(null);
  await run(read, ['fault']);
  expect(refusal(read)).toBe(10_000);
  expect(refusal(write)).toBe(10_000);
  expect(refusal(other)).toBe(null);
  expect(changes).toEqual(['mcp:files open']);
});

test('one probe of any of its tools closes the circuit for all', async () => {
  const { changes, clock, run, start, begin, refusal } = createCircuitLab({ failures: 1 });
  await run(read, ['fault']);
  clock.nowMs = 10_000;
  const ended = start(write);
  expect(begin(read).kind).toBe('refused');
  ended(ENDS.success, 'own');
  await settled();
  expect(refusal(read)).toBe(null);
  expect(changes).toEqual(['mcp:files open', 'mcp:files half_open', 'mcp:files closed']);
});

test('what a model did wrong at an upstream opens nothing', async () => {
  const { changes, run } = createCircuitLab({ failures: 1 });
  await run(read, ['neither']);
  expect(changes).toEqual([]);
});
