import type { IncomingHttpHeaders } from 'node:http';
import { CallParams } from './call-params.ts';

/** A `tools/call` that asks for its result and for nothing else of the protocol. */
export type PlainCall = {
  readonly id: string | number;
  /** `current`: 2026-07-28, whole in itself. `earlier`: one that `initialize` may stand before. */
  readonly revision: 'current' | 'earlier';
  readonly params: CallParams;
  /** Whether the client names event streams among what it takes: an answer that is long in coming may be one. */
  readonly takesEvents: boolean;
};

/** The revision without sessions. */
export const CURRENT_REVISION = '2026-07-28';

const EARLIER_REVISIONS: ReadonlySet<string> = new Set([
  ...['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'],
]);

const ENVELOPE = 'io.modelcontextprotocol/';
const VERSION = `${ENVELOPE}protocolVersion`;
const CAPABILITIES = `${ENVELOPE}clientCapabilities`;
const CLIENT = `${ENVELOPE}clientInfo`;
const OWN = 'recourse/';

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads a call that needs nothing of the SDK: no progress, no task, no input of a person. null for every other message, and for
 * each that is not quite as the protocol has it: the SDK answers those, and says what is wrong.
 */
export const readPlainCall = (body: unknown, headers: IncomingHttpHeaders): PlainCall | null => {
  if (!isRecord(body) || body['method'] !== 'tools/call' || body['jsonrpc'] !== '2.0') return null;
  const { id, params } = body;
  const accepted = readAccept(headers.accept);
  if (!isId(id) || accepted === null || Object.keys(body).length !== 4 || !isRecord(params)) return null;
  const read = readParams(params);
  if (read === null) return null;
  const meta = params['_meta'] ?? NO_META;
  const revision = isRecord(meta) ? readRevision(read.name, meta, headers) : null;
  return revision === null ? null : { id, revision, params: read, takesEvents: accepted === 'both' };
};

const NO_META: Members = {};

const isId = (id: unknown): id is string | number => typeof id === 'string' || Number.isSafeInteger(id);

const isRecord = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const readAccept = (accept = '*/*'): 'anything' | 'both' | null => {
  if (accept.includes('application/json') && accept.includes('text/event-stream')) return 'both';
  return accept.includes('*/*') ? 'anything' : null;
};

const readParams = (params: Members): CallParams | null => {
  for (const member in params) if (!PARAMS.has(member)) return null;
  const { name, arguments: given, _meta: meta } = params;
  if (typeof name !== 'string' || (meta !== undefined && !isRecord(meta))) return null;
  if (meta === undefined) return { name, arguments: given };
  if ('progressToken' in meta) return null;
  return hasOwn(meta) ? (CallParams.safeParse(params).data ?? null) : { name, arguments: given };
};

const hasOwn = (meta: Members): boolean => {
  for (const key in meta) if (key.startsWith(OWN)) return true;
  return false;
};

const PARAMS: ReadonlySet<string> = new Set(['name', 'arguments', '_meta']);

const readRevision = (name: string, meta: Members, headers: IncomingHttpHeaders): PlainCall['revision'] | null => {
  const version = headers['mcp-protocol-version'];
  const isNamed = typeof version === 'string';
  if (!(VERSION in meta)) return !isNamed || EARLIER_REVISIONS.has(version) ? 'earlier' : null;
  const isCurrent =
    meta[VERSION] === CURRENT_REVISION &&
    version === CURRENT_REVISION &&
    headers['mcp-method'] === 'tools/call' &&
    headers['mcp-name'] === name;
  return isCurrent && isEnvelope(meta) ? 'current' : null;
};

const isEnvelope = (meta: Members): boolean => {
  for (const key in meta) if (key.startsWith(ENVELOPE) && !ENVELOPE_KEYS.has(key)) return false;
  return isCapabilities(meta[CAPABILITIES]) && isClient(meta[CLIENT]);
};

const ENVELOPE_KEYS: ReadonlySet<string> = new Set([VERSION, CAPABILITIES, CLIENT]);

// What clients declare is an object of objects, whose members are objects and truth values.
const isCapabilities = (given: unknown): boolean => {
  if (!isRecord(given)) return false;
  for (const name in given) {
    const capability = given[name];
    if (!isRecord(capability) || !Object.values(capability).every(isDetail)) return false;
  }
  return true;
};

const isDetail = (value: unknown): boolean => typeof value === 'boolean' || isRecord(value);

const isClient = (given: unknown): boolean => {
  if (given === undefined) return true;
  if (!isRecord(given) || typeof given['name'] !== 'string' || typeof given['version'] !== 'string') return false;
  for (const member in given) if (!CLIENT_MEMBERS.has(member) || typeof given[member] !== 'string') return false;
  return true;
};

const CLIENT_MEMBERS: ReadonlySet<string> = new Set(['name', 'version', 'title', 'description', 'websiteUrl']);
