import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as z from 'zod';
import { listenForBench } from '../listen-for-bench.ts';

const INPUT = { text: z.string().describe('Any text.') };
const OUTPUT = { text: z.string() };

/** The built-in `echo`, offered with version 1 of the official SDK: the same name, description, schemas and answer. */
const createEchoServer = (): McpServer => {
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

// As the SDK's own examples have it: stateless (no sessionIdGenerator), a server and a transport for each request, answers of one JSON body.
const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const server = createEchoServer();
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.once('close', () => {
    void transport.close();
    void server.close();
  });
  await server.connect(transport);
  await transport.handleRequest(request, response);
};

listenForBench(createServer((request, response) => void answer(request, response)));
