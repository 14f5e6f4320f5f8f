import { createServer, type IncomingMessage } from 'node:http';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { listenForBench } from '../listen-for-bench.ts';
import { createEchoServer } from './create-echo-server.ts';

// As the SDK's own documents have it for node:http: stateless, both guards in front, a server for each request.
const handle = toNodeHandler(createMcpHandler(createEchoServer));
const isHostValid = localhostHostValidation();
const isOriginValid = localhostOriginValidation();

// Its types were written without exactOptionalPropertyTypes; node:http sets both for every request of a client.
const isWhole = (request: IncomingMessage): request is IncomingMessage & { method: string; url: string } =>
  request.method !== undefined && request.url !== undefined;

listenForBench(
  createServer((request, response) => {
    if (!isHostValid(request, response) || !isOriginValid(request, response)) return;
    if (isWhole(request)) void handle(request, response);
  }),
);
