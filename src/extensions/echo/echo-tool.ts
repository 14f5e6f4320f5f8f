import * as z from 'zod';
import { defineTool } from '../../recourse.ts';

/** Gives back what it was sent; for smoke tests and benches. */
export const echoTool = defineTool({
  name: 'echo',
  description: 'Returns the given text unchanged. Use it to check that tool calls work.',
  effects: 'read',
  input: z.object({ text: z.string().describe('Any text.') }),
  output: z.object({ text: z.string() }),
  run: ({ text }) => ({ text }),
});
