import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createOverriding } from '#src/overriding.ts';

const tool = defineTool({
  name: 'echo',
  description: '',
  input: z.object({}),
  effects: 'write',
  concurrency: 2,
  maxCallsPerSession: 3,
  run: () => 1,
});

test('a tool and its override make the same object again, and another override another', () => {
  const override = createOverriding();
  const first = override(tool, { retries: 0 });
  expect(override(tool, { retries: 0 })).toBe(first);
  expect(override(tool, { retries: 2 })).not.toBe(first);
  expect(override(tool, {})).toBe(tool);
  expect(override(tool, { enabled: true })).toBe(tool);
});

test('what is left out stays as the tool has it; null takes a limit away, 0 and false are values', () => {
  const { concurrency, maxCallsPerSession, retries, polling, effects } = createOverriding()(tool, {
    concurrency: null,
    maxCallsPerSession: 0,
    retries: 0,
    polling: false,
  });
  expect({ concurrency, maxCallsPerSession, retries, polling, effects }).toEqual({
    concurrency: null,
    maxCallsPerSession: 0,
    retries: 0,
    polling: false,
    effects: 'write',
  });
});
