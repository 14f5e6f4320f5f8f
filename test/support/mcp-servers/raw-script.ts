import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';

/** What an MCP server answers, in texts that no SDK would write. */
export type RawScript = {
  readonly tools?: readonly object[];
  /** The whole answer to a call, by the name of the tool. `ID` is the id of the request, `ARGS` its arguments. Without one: "ok". */
  readonly calls?: Readonly<Record<string, string>>;
  /** The results of `tools/list`, by the cursor that is asked for, as JSON; of any other cursor the one of `*`, else an error. */
  readonly pages?: Readonly<Record<string, object>>;
  /** Members of the result of `initialize`. */
  readonly welcome?: object;
  /** Speaks MCP 2026-07-28, and no earlier revision. */
  readonly isModern?: boolean;
};

type Request = { readonly id?: number; readonly method: string; readonly params?: Readonly<Record<string, unknown>> };

const WELCOME = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'raw', version: '1' },
};
const DISCOVERED = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
};
const OK = { content: [{ type: 'text', text: 'ok' }] };

/** A tool that takes anything and reads. */
export const readTool = (name: string, more: object = {}) => ({
  name,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
  ...more,
});

/** The same, and a write. */
export const writeTool = (name: string) => readTool(name, { annotations: {} });

/** The text of a successful answer with this result. */
export const resultText = (result: string): string => `{"jsonrpc":"2.0","id":ID,"result":${result}}`;

/** The text to answer with; null where there is nothing to say. */
export const toRawAnswer = (script: RawScript, { id, method, params = {} }: Request): string | null => {
  if (id === undefined) return null;
  const own = method === 'tools/call' ? script.calls?.[String(params['name'])] : undefined;
  if (own !== undefined)
    return own.replaceAll('ID', String(id)).replaceAll('ARGS', JSON.stringify(params['arguments']));
  const result = resultsOf(script, params).get(method);
  if (result !== undefined) return JSON.stringify({ jsonrpc: '2.0', id, result });
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_601, message: `no ${method}` } });
};

const resultsOf = (script: RawScript, params: Readonly<Record<string, unknown>>): ReadonlyMap<string, object> => {
  const { tools = [], pages = {}, welcome = {} } = script;
  const cursor = params['cursor'];
  const page = cursor === undefined ? undefined : (pages[String(cursor)] ?? pages['*'] ?? null);
  return new Map<string, object>([
    script.isModern === true ? ['server/discover', DISCOVERED] : ['initialize', { ...WELCOME, ...welcome }],
    ['ping', {}],
    ['tools/call', OK],
    ...(page === null ? [] : [['tools/list', page ?? pages['first'] ?? { tools }] as const]),
  ]);
};

/** Settings of such a server as a program. */
export const rawProgram = (script: RawScript) => ({
  command: process.execPath,
  args: [fileURLToPath(new URL('raw-server.ts', import.meta.url)), JSON.stringify(script)],
});

/**
 * How such a server answers calls over HTTP: as a body with this status, as an event of a stream that ends with it, or,
 * as servers of 2024 do, as an event of one stream for all.
 */
export type RawForm = { readonly form: 'json' | 'events' | 'stream'; readonly status?: number };

type Sent = { readonly request: Request; readonly body: string | null };

const toEvent = (body: string): string => `event: message\ndata: ${body}\n\n`;
const beginStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

const answerPost = (response: ServerResponse, { request, body }: Sent, { form, status = 200 }: RawForm): void => {
  const isCall = request.method === 'tools/call';
  if (body === null) response.writeHead(202).end();
  else if (isCall && form === 'events') beginStream(response).end(toEvent(body));
  else response.writeHead(isCall ? status : 200, { 'content-type': 'application/json' }).end(body);
};

/** Settings of such a server over HTTP, and its end. */
export const startRawHttp = async (script: RawScript, form: RawForm) => {
  let stream: ServerResponse | null = null;
  const isOld = form.form === 'stream';
  const server = createServer(async (request, response) => {
    if (request.method === 'GET' && isOld) {
      stream = beginStream(response);
      return void stream.write('event: endpoint\ndata: /messages\n\n');
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const sent: Request = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const body = toRawAnswer(script, sent);
    if (!isOld) return answerPost(response, { request: sent, body }, form);
    response.writeHead(202).end();
    if (body !== null) stream?.write(toEvent(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { settings: { type: isOld ? 'sse' : 'http', url: `http://127.0.0.1:${address.port}/mcp` }, stop };
};
