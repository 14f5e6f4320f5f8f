import { defineTool, z } from 'recourse-server';
import { VERSION } from './version.ts';

export const sum = defineTool({
  name: 'sum',
  description: 'Adds two numbers.',
  effects: 'read',
  input: z.object({ a: z.number(), b: z.number() }),
  output: z.object({ sum: z.number(), version: z.int() }),
  run: ({ a, b }) => ({ sum: a + b, version: VERSION }),
});

export const wait = defineTool({
  name: 'wait',
  description: 'Answers after a while.',
  effects: 'read',
  input: z.object({ ms: z.int().min(0).max(10_000), text: z.string() }),
  run: ({ ms, text }) => new Promise((resolve) => setTimeout(resolve, ms, { text })),
});
