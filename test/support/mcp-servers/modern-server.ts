// A server made with the SDK of the 2026 revision, over stdio; argv[2] 'modern' refuses the handshake of 2025.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const create = (): McpServer => {
  const server = new McpServer({ name: 'modern', version: '1.0.0' });
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers.',
      inputSchema: z.object({ x: z.number(), y: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ x, y }) => ({ content: [{ type: 'text', text: String(x + y) }], structuredContent: { sum: x + y } }),
  );
  server.registerTool('explode', { description: 'Throws.', inputSchema: z.object({}) }, () => {
    throw new Error('It went up in smoke.');
  });
  return server;
};

serveStdio(create, { legacy: process.argv[2] === 'modern' ? 'reject' : 'serve' });
