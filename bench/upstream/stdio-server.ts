import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createEchoServer } from '../mcp/create-echo-server.ts';

// Ends with its input, and so with the service.
serveStdio(createEchoServer);
