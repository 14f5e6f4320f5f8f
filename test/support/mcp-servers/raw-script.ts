import { fileURLToPath } from 'node:url';
import { type Answerer, startHttpTarget } from '../http-target.ts';

/** What an MCP server answers, in texts that no SDK would write. */
export type RawScript = {
  readonly tools?: readonly object[];
  /** The whole answer to a call, by the name of the tool. `ID` is the id of the request. Without one: "ok". */
  readonly calls?: Readonly<Record<string, string>>;
  /** The results of `tools/list`, by the cursor that is asked for, as JSON; of any other cursor the one of `*`. */
  readonly pages?: Readonly<Record<string, object>>;
  /** Members of the result of `initialize`. */
  readonly welcome?: object;
};

type Request = { readonly id?: number; readonly method: string; readonly params?: Readonly<Record<string, unknown>> };

const WELCOME = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'raw', version: '1' },
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
  if (own !== undefined) return own.replaceAll('ID', String(id));
  const result = resultsOf(script, params).get(method);
  if (result !== undefined) return JSON.stringify({ jsonrpc: '2.0', id, result });
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_601, message: `no ${method}` } });
};

const resultsOf = (script: RawScript, params: Readonly<Record<string, unknown>>): ReadonlyMap<string, object> => {
  const { tools = [], pages = {}, welcome = {} } = script;
  const cursor = params['cursor'];
  const page = cursor === undefined ? undefined : (pages[String(cursor)] ?? pages['*']);
  return new Map<string, object>([
    ['initialize', { ...WELCOME, ...welcome }],
    ['ping', {}],
    ['tools/list', page ?? pages['first'] ?? { tools }],
    ['tools/call', OK],
  ]);
};

/** Settings of such a server as a program. */
export const rawProgram = (script: RawScript) => ({
  command: process.execPath,
  args: [fileURLToPath(new URL('raw-server.ts', import.meta.url)), JSON.stringify(script)],
});

/** How such a server answers calls over HTTP: `json` with this status, or as an event of a stream that ends with it. */
export type RawForm = { readonly form: 'json' | 'events'; readonly status?: number };

/** Settings of such a server over HTTP; it ends with the test. */
export const startRawHttp = async (script: RawScript, { form, status = 200 }: RawForm) => {
  const answer = (response: Parameters<Answerer>[0], text: string): void => {
    const request: Request = JSON.parse(text);
    const isCall = request.method === 'tools/call';
    const body = toRawAnswer(script, request);
    if (body === null) response.writeHead(202).end();
    else if (!isCall || form === 'json')
      response.writeHead(isCall ? status : 200, { 'content-type': 'application/json' }).end(body);
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: message\ndata: ${body}\n\n`);
  };
  const target = await startHttpTarget((response) => {
    if (response.req.method !== 'POST') return void response.writeHead(405).end();
    const body = response.req.toArray().then((parts: Buffer[]) => Buffer.concat(parts).toString());
    void body.then((text) => answer(response, text), response.destroy);
  });
  return { type: 'http', url: `${target.origin}/mcp` };
};
