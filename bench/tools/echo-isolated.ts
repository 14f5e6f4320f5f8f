import { defineTool, z } from 'recourse-server';

/** The built-in `echo` once more, in a tool host. */
export const echoIsolated = defineTool({
  name: 'echo_isolated',
  description: 'Returns the given text unchanged. Use it to check that tool calls work.',
  effects: 'read',
  input: z.object({ text: z.string().describe('Any text.') }),
  output: z.object({ text: z.string() }),
  run: ({ text }) => ({ text }),
});
