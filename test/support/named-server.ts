// An MCP server whose tools say what it was started with: argv[2] is its word, the rest are names of tools.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const [, , word = '', ...names] = process.argv;

const create = (): McpServer => {
  const server = new McpServer({ name: 'named', version: '1.0.0' });
  for (const name of names)
    server.registerTool(
      name,
      {
        description: `Says ${word}.`,
        inputSchema: z.object({ wait_ms: z.number().optional() }),
        annotations: { readOnlyHint: true },
      },
      async ({ wait_ms: waitMs = 0 }) => {
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        const said = { word, pid: process.pid, token: process.env['SERVER_TOKEN'] ?? null };
        return { content: [{ type: 'text', text: JSON.stringify(said) }], structuredContent: said };
      },
    );
  return server;
};

serveStdio(create);
