// An MCP server over HTTP without any SDK. argv: port, a file to count in, 'plain', 'locked' (401) or 'old' (SSE only).
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { SPELLED } from './scripted-tools.ts';

const [, , port = '0', countPath = '', mode = 'plain'] = process.argv;
const sessions = new Set<string>();
let oldStream: ServerResponse | null = null;

type Message = Readonly<Record<string, unknown>> & { readonly id?: number; readonly method?: string };
let lastBody = '';

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
const answer = (id: unknown, result: unknown) => ({ jsonrpc: '2.0', id, result });
const sendJson = (response: ServerResponse, body: unknown, headers = {}): void =>
  void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const beginStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

const TOOLS = [
  'echo',
  'drop',
  'limited',
  'broken',
  'locked',
  'moved',
  'large_stream',
  'large_body',
  'lost',
  'forget',
  'headers',
  'wait',
  'misdirected',
];

const CALLS: Readonly<
  Record<string, (message: Message, response: ServerResponse, request: IncomingMessage) => unknown>
> = {
  echo: ({ id }, response) => sendJson(response, answer(id, text('over HTTP'))),
  spelled: ({ id }, response) => sendJson(response, answer(id, text(lastBody))),
  headers: ({ id }, response, request) => sendJson(response, answer(id, text(String(request.headers['x-secret'])))),
  drop: (_message, response) => response.destroy(),
  limited: (_message, response) => response.writeHead(429, { 'retry-after': '7' }).end('slow down'),
  broken: (_message, response) => response.writeHead(503).end('no'),
  locked: (_message, response) => response.writeHead(401).end('who are you?'),
  misdirected: (_message, response) => response.writeHead(421).end('not here'),
  moved: (_message, response) => response.writeHead(307, { location: 'http://127.0.0.1:9/elsewhere' }).end(),
  lost: (_message, response) => beginStream(response).end(': nothing more\n\n'),
  wait: (_message, response) => beginStream(response).write(': wait\n\n'),
  forget: ({ id }, response) => {
    sessions.clear();
    sendJson(response, answer(id, text('who were you?')));
  },
  large_body: ({ id }, response) => sendJson(response, answer(id, text('x'.repeat(30_000_000)))),
  large_stream: async ({ id }, response) => {
    beginStream(response).write('id: 1\ndata: {"jsonrpc":"2.0","id":');
    response.write(`${id},"result":{"content":[{"type":"text","text":"`);
    for (let part = 0; part < 100 && !response.destroyed; part += 1)
      if (!response.write('x'.repeat(1_000_000))) await new Promise((resolve) => response.once('drain', resolve));
    response.end('"}]}}\n\n');
  },
};

const initialize = ({ id }: Message, response: ServerResponse): void => {
  const session = `session-${process.pid}-${sessions.size}`;
  sessions.add(session);
  const capabilities = { tools: {} };
  const result = { protocolVersion: '2025-03-26', capabilities, serverInfo: { name: 'scripted-http', version: '1' } };
  sendJson(response, answer(id, result), { 'mcp-session-id': session });
};

const list = [...TOOLS.map((name) => ({ name, description: name, inputSchema: { type: 'object' } })), SPELLED];

const post = (message: Message, request: IncomingMessage, response: ServerResponse): unknown => {
  const { id, method, params } = message;
  if (method === 'initialize') return initialize(message, response);
  if (method === 'server/discover') return response.writeHead(400).end('no session');
  if (!sessions.has(String(request.headers['mcp-session-id'])))
    return response.writeHead(404).end(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32602,"message":"no session"}}`);
  if (id === undefined) return response.writeHead(202).end();
  if (method === 'tools/list') return sendJson(response, answer(id, { tools: list }));
  if (method !== 'tools/call') return sendJson(response, answer(id, {}));
  const name = String(Object(params)['name']);
  appendFileSync(countPath, `${name}\n`);
  return CALLS[name]?.(message, response, request);
};

/** HTTP with SSE, as of 2024: a stream for all answers, and an endpoint that it names. */
const postOld = ({ id, method, params }: Message, response: ServerResponse): void => {
  response.writeHead(202).end();
  if (id === undefined) return;
  const capabilities = { tools: {} };
  const results: Readonly<Record<string, unknown>> = {
    initialize: { protocolVersion: '2024-11-05', capabilities, serverInfo: { name: 'old', version: '1' } },
    'tools/list': { tools: list },
    'tools/call': text('over SSE'),
  };
  if (Object(params)['name'] === 'drop') oldStream?.destroy();
  else oldStream?.write(`event: message\ndata: ${JSON.stringify(answer(id, results[String(method)] ?? {}))}\n\n`);
};

const handle = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
  if (mode === 'locked') return response.writeHead(401).end('who are you?');
  if (request.method === 'GET' && mode === 'old') {
    oldStream = beginStream(response);
    return oldStream.write('event: endpoint\ndata: /messages\n\n');
  }
  if (request.method === 'DELETE') return response.writeHead(200).end();
  if (request.method !== 'POST') return response.writeHead(405).end();
  lastBody = Buffer.concat(await request.toArray()).toString('utf8');
  const message = JSON.parse(lastBody);
  if (mode !== 'old') return post(message, request, response);
  return request.url === '/messages' ? postOld(message, response) : response.writeHead(405).end();
};

createServer((request, response) => void handle(request, response)).listen(Number(port), '127.0.0.1', () => {
  process.stdout.write('ready\n');
});
