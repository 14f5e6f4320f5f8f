import { defineTool, z } from 'recourse-server';

/** The built-in `echo` once more, as a tool that may have an effect; inside the service, like the built-in one. */
export const echoWrite = defineTool({
  name: 'echo_write',
  description: 'Returns the given text unchanged. Use it to check that tool calls work.',
  effects: 'write',
  isolation: 'inline',
  input: z.object({ text: z.string().describe('Any text.') }),
  output: z.object({ text: z.string() }),
  run: ({ text }) => ({ text }),
});
