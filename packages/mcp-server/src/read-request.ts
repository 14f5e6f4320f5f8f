import type { IncomingHttpHeaders } from 'node:http';
import { isRecord } from 'recourse-server/contract/json-record';
import { CURRENT_REVISION } from './rpc-exchange.ts';
import type { TaskMethod } from './tasks.ts';

type Members = Readonly<Record<string, unknown>>;

/** `current`: 2026-07-28, whole in itself. `earlier`: one that `initialize` may stand before. */
export type Revision = 'current' | 'earlier';

/** A request that the route answers itself. */
export type McpRequest = {
  readonly id: string | number;
  readonly method: 'tools/call' | 'tools/list' | TaskMethod;
  readonly params: Members;
  readonly revision: Revision;
  /** Which answers the client names: a JSON body, an event stream as well, or `anything`. */
  readonly accepts: 'json' | 'both' | 'anything';
};

type Method = {
  readonly method: McpRequest['method'];
  /** The parameter that the header `Mcp-Name` repeats. */
  readonly named: 'name' | 'taskId' | null;
  readonly params: ReadonlySet<string>;
};

const TASK_PARAMS = new Set(['taskId', '_meta']);
const METHODS: ReadonlyMap<unknown, Method> = new Map(
  (
    [
      // `task` asked for tasks as 2025-11-25 had them, which servers that have none are to ignore.
      { method: 'tools/call', named: 'name', params: new Set(['name', 'arguments', '_meta', 'task']) },
      { method: 'tools/list', named: null, params: new Set(['_meta']) },
      { method: 'tasks/get', named: 'taskId', params: TASK_PARAMS },
      { method: 'tasks/update', named: 'taskId', params: TASK_PARAMS },
      { method: 'tasks/cancel', named: 'taskId', params: TASK_PARAMS },
    ] as const
  ).map((method) => [method.method, method]),
);

const EARLIER_REVISIONS: ReadonlySet<string> = new Set([
  ...['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'],
]);

const ENVELOPE = 'io.modelcontextprotocol/';
const VERSION = `${ENVELOPE}protocolVersion`;
const CAPABILITIES = `${ENVELOPE}clientCapabilities`;
const CLIENT = `${ENVELOPE}clientInfo`;

/**
 * Reads a request that is exactly as the protocol has it. null for every other message: the SDK checks those, and says
 * what is wrong or accepts them.
 */
export const readRequest = (body: unknown, headers: IncomingHttpHeaders): McpRequest | null => {
  if (!isRecord(body) || body['jsonrpc'] !== '2.0' || hasOthers(body, MESSAGE)) return null;
  const { id, params = NO_MEMBERS } = body;
  const method = METHODS.get(body['method']);
  if (method === undefined || !isId(id) || !isRecord(params) || hasOthers(params, method.params)) return null;
  const { _meta: meta = NO_MEMBERS } = params;
  const accepts = readAccept(headers.accept);
  if (accepts === 'json' || !isRecord(meta) || !isToken(meta['progressToken'])) return null;
  if (method.named !== null && typeof params[method.named] !== 'string') return null;
  const revision = readRevision(method, params, meta, headers);
  return revision === null ? null : { id, method: method.method, params, revision, accepts };
};

/** Reads a request that the SDK has accepted as one of that revision. Throws where the route does not answer its method, which is a bug. */
export const readAcceptedRequest = (body: unknown, revision: Revision, { accept }: IncomingHttpHeaders): McpRequest => {
  const { id, method, params = NO_MEMBERS }: Members = { ...Object(body) };
  const known = METHODS.get(method);
  if (known === undefined || !isId(id) || !isRecord(params))
    throw new Error('The MCP SDK accepted an unknown request.');
  return { id, method: known.method, params, revision, accepts: readAccept(accept) };
};

const MESSAGE: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);
const NO_MEMBERS: Members = {};

const hasOthers = (members: Members, known: ReadonlySet<string>): boolean => {
  for (const name in members) if (!known.has(name)) return true;
  return false;
};

const isId = (id: unknown): id is string | number => typeof id === 'string' || Number.isSafeInteger(id);

const isToken = (token: unknown): boolean => token === undefined || isId(token);

const readAccept = (accept = '*/*'): McpRequest['accepts'] => {
  if (accept.includes('application/json') && accept.includes('text/event-stream')) return 'both';
  return accept.includes('*/*') ? 'anything' : 'json';
};

const readRevision = (
  { method, named }: Method,
  params: Members,
  meta: Members,
  headers: IncomingHttpHeaders,
): Revision | null => {
  const name = named === null ? null : params[named];
  const version = headers['mcp-protocol-version'];
  if (!(VERSION in meta)) return isEarlier(named, version) ? 'earlier' : null;
  const isCurrent =
    meta[VERSION] === CURRENT_REVISION &&
    version === CURRENT_REVISION &&
    headers['mcp-method'] === method &&
    (headers['mcp-name'] ?? null) === name;
  return isCurrent && isEnvelope(meta) ? 'current' : null;
};

// Earlier revisions have no such tasks.
const isEarlier = (named: Method['named'], version: unknown): boolean =>
  named !== 'taskId' && (typeof version !== 'string' || EARLIER_REVISIONS.has(version));

const isEnvelope = (meta: Members): boolean => {
  for (const key in meta) if (key.startsWith(ENVELOPE) && !ENVELOPE_KEYS.has(key)) return false;
  return isCapabilities(meta[CAPABILITIES]) && isClient(meta[CLIENT]);
};

const ENVELOPE_KEYS: ReadonlySet<string> = new Set([VERSION, CAPABILITIES, CLIENT]);

// What clients declare is an object of objects, whose members are objects and truth values.
const isCapabilities = (value: unknown): boolean => {
  if (!isRecord(value)) return false;
  for (const name in value) {
    const capability = value[name];
    if (!isRecord(capability) || !Object.values(capability).every(isDetail)) return false;
  }
  return true;
};

const isDetail = (value: unknown): boolean => typeof value === 'boolean' || isRecord(value);

const isClient = (value: unknown): boolean => {
  if (value === undefined) return true;
  if (!isRecord(value) || typeof value['name'] !== 'string' || typeof value['version'] !== 'string') return false;
  for (const member in value) if (!CLIENT_MEMBERS.has(member) || typeof value[member] !== 'string') return false;
  return true;
};

const CLIENT_MEMBERS: ReadonlySet<string> = new Set(['name', 'version', 'title', 'description', 'websiteUrl']);
