import { FastMCP } from 'fastmcp';
import * as z from 'zod';
import { findFreePort } from '../servers.ts';

/** The built-in `echo`, offered with FastMCP: the same name, description, schemas and answer. */
const server = new FastMCP({ name: 'echo', version: '1.0.0' });
server.addTool({
  name: 'echo',
  description: 'Returns the given text unchanged. Use it to check that tool calls work.',
  parameters: z.object({ text: z.string().describe('Any text.') }),
  outputSchema: z.object({ text: z.string() }),
  annotations: { readOnlyHint: true },
  execute: async ({ text }) => ({
    content: [{ type: 'text', text: JSON.stringify({ text }) }],
    structuredContent: { text },
  }),
});

// Stateless, answers of one JSON body, as the servers made with the SDK. It has no way to say which port it took.
const port = await findFreePort();
const httpStream = { host: '127.0.0.1', port, endpoint: '/mcp', stateless: true, enableJsonResponse: true } as const;
await server.start({ transportType: 'httpStream', httpStream });
process.send?.({ port });
process.once('disconnect', () => process.exit(0));
