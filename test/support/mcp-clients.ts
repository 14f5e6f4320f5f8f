import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as EarlierTransportPort } from '@modelcontextprotocol/sdk/shared/transport.js';
import { onTestFinished } from 'vitest';

const INFO = { name: 'test', version: '1' };

export type ConnectedClient = { readonly client: Client; readonly transport: StreamableHTTPClientTransport };

type ClientSetUp = {
  readonly capabilities?: ClientCapabilities;
  /** Registers what the client answers the server with. */
  readonly prepare?: (client: Client) => void;
};

/** The SDK's own client, closed when the test ends: `modern` speaks 2026-07-28, `legacy` 2025-11-25 with a session. */
export const connect = async (
  url: string,
  era: 'modern' | 'legacy',
  headers: Readonly<Record<string, string>> = {},
  { capabilities = {}, prepare = () => undefined }: ClientSetUp = {},
): Promise<ConnectedClient> => {
  const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
  const client = new Client(INFO, { capabilities, versionNegotiation: { mode } });
  prepare(client);
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, transport };
};

// Its types were written without exactOptionalPropertyTypes.
const isTransport = (transport: unknown): transport is EarlierTransportPort => transport instanceof EarlierTransport;

export type ConnectedEarlierClient = { readonly client: EarlierClient; readonly sessionId: string | undefined };

/** The client of the SDK's first major version, which most programs still have. */
export const connectEarlier = async (
  url: string,
  {
    capabilities = {},
    headers = {},
  }: Pick<ClientSetUp, 'capabilities'> & { readonly headers?: Record<string, string> } = {},
): Promise<ConnectedEarlierClient> => {
  const client = new EarlierClient(INFO, { capabilities });
  const transport = new EarlierTransport(new URL('/mcp', url), { requestInit: { headers } });
  if (isTransport(transport)) await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, sessionId: transport.sessionId };
};

/** What a result carries beside what the protocol knows; fails where it has none. */
export const detailOf = ({ _meta }: { readonly _meta?: unknown }): Readonly<Record<string, unknown>> => {
  const detail: unknown =
    typeof _meta === 'object' && _meta !== null ? Reflect.get(_meta, 'recourse/result') : undefined;
  if (typeof detail !== 'object' || detail === null) throw new Error(`No recourse/result in ${JSON.stringify(_meta)}.`);
  return { ...detail };
};

export type McpAnswer = {
  readonly status: number;
  readonly headers: Headers;
  /** The messages in the order they came, whether as one JSON body or as events. */
  readonly messages: readonly Readonly<Record<string, unknown>>[];
};

/** Posts a body by plain HTTP, without any SDK. */
export const post = async (
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<McpAnswer> => {
  const answer = await fetch(new URL('/mcp', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, headers: answer.headers, messages: toMessages(await answer.text()) };
};

const toMessages = (text: string): McpAnswer['messages'] => {
  const events = text.startsWith('{') || text.startsWith('[') ? [text] : (text.match(/(?<=^data: ).*$/gm) ?? []);
  return events.flatMap((event) => {
    const parsed: unknown = JSON.parse(event);
    return Array.isArray(parsed) ? parsed : [parsed];
  });
};

/** The `_meta` that makes a request one of revision 2026-07-28. */
export const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
} as const;

/** A request of revision 2026-07-28, whole in itself. */
export const postModern = (
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<McpAnswer> => {
  const meta = typeof params['_meta'] === 'object' ? params['_meta'] : {};
  const { name } = params;
  return post(
    url,
    { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: { ...MODERN_META, ...meta } } },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...headers,
    },
  );
};
