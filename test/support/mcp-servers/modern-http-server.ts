// A server made with the SDK of the 2026 revision, over HTTP. argv[2]: its port.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

const create = (): McpServer => {
  const server = new McpServer({ name: 'modern-http', version: '1.0.0' });
  server.registerTool(
    'add',
    { description: 'Adds.', inputSchema: z.object({ x: z.number(), y: z.number() }) },
    ({ x, y }) => ({
      content: [{ type: 'text', text: String(x + y) }],
    }),
  );
  server.registerTool('wait', { description: 'Waits.', inputSchema: z.object({}) }, async (_input, { mcpReq }) => {
    await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve));
    process.stdout.write('cancelled\n');
    return { content: [] };
  });
  return server;
};

const handler = createMcpHandler(create, { legacy: 'reject' });
const handle = toNodeHandler(handler);
createServer(
  (request, response) =>
    void handle(Object.assign(request, { method: request.method ?? 'GET', url: request.url ?? '/' }), response),
).listen(Number(process.argv[2]), '127.0.0.1', () => {
  process.stdout.write('ready\n');
});
