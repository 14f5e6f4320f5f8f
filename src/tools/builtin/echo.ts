import * as z from 'zod';
import { defineTool } from '../define-tool.ts';

/** Gives back what it was sent; for smoke tests and benches. */
export const echo = defineTool({
  name: 'echo',
  description: 'Returns the given text unchanged. Use it to check that tool calls work.',
  effects: 'read',
  input: z.object({ text: z.string().describe('Any text.') }),
  output: z.object({ text: z.string() }),
  run: ({ text }) => ({ text }),
});
