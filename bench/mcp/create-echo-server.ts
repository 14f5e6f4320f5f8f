import { McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

/** The built-in `echo`, offered with the official SDK: the same name, description, schemas and answer. */
export const createEchoServer = (): McpServer => {
  const server = new McpServer({ name: 'echo', version: '1.0.0' });
  server.registerTool(
    'echo',
    {
      description: 'Returns the given text unchanged. Use it to check that tool calls work.',
      inputSchema: INPUT,
      outputSchema: OUTPUT,
      annotations: { readOnlyHint: true },
    },
    ({ text }) => ({ content: [{ type: 'text', text: JSON.stringify({ text }) }], structuredContent: { text } }),
  );
  return server;
};

const INPUT = z.object({ text: z.string().describe('Any text.') });
const OUTPUT = z.object({ text: z.string() });
