import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from 'recourse-server/auth/callers';
import { memberOf } from 'recourse-server/contract/json-record';
import type { BatchRequest } from 'recourse-server/executor/batch-request';
import { isJsonBody, type JsonBody } from 'recourse-server/routes/body-parsers';
import { ProblemError, toHttpFailure } from 'recourse-server/routes/problems';
import { callerKeyOf } from 'recourse-server/routes/request-gate';
import { toBatchMemory } from 'recourse-server/routes/request-memory';
import * as z from 'zod';

/** The session that a request names by `Mcp-Session-Id`; null where it names none. Throws where it can be no session. */
export const sessionIdOf = ({ headers }: FastifyRequest): string | null => {
  const header = headers['mcp-session-id'];
  if (header === undefined) return null;
  // The transport allows visible ASCII; two such headers come as one with a blank in it.
  if (typeof header === 'string' && /^[\x21-\x7e]{1,256}$/.test(header)) return header;
  throw new ProblemError(400, 'invalid_session_id', 'Mcp-Session-Id must be 1 to 256 visible ASCII characters.');
};

/** The name of the Tasks extension (SEP-2663), in what clients and the server declare. */
export const TASKS = 'io.modelcontextprotocol/tasks';

/** What the client of a request of 2026-07-28 declares that it can do. */
export const capabilitiesOf = (meta: unknown): unknown => memberOf(meta, 'io.modelcontextprotocol/clientCapabilities');

/** The revision without sessions. */
export const CURRENT_REVISION = '2026-07-28';

/** One request of a client to the endpoint, after the gate, and what the calls in it have in common. */
export type Exchange = Readonly<ReturnType<typeof openExchange>>;

/** Opens an exchange; Throws a problem where its `Mcp-Session-Id` can be no session. */
export const openExchange = (
  { request }: FastifyReply,
  body: JsonBody,
  callerOf: (request: FastifyRequest) => Caller,
) => {
  const { tenant, key, keyHash, id, mayUse } = callerOf(request);
  const { trace } = request;
  const sessionId = sessionIdOf(request);
  const revision = request.headers['mcp-protocol-version'];
  return {
    requestId: request.id,
    tenant,
    key,
    keyHash,
    /** Between whom the slots of the service are shared. */
    caller: callerKeyOf(request),
    /** Who it is, for tools; null while anonymous. */
    callerId: id,
    mayUse,
    /** What its `Mcp-Session-Id` says; null without one. */
    sessionId,
    /** The session in which ids of requests are unique; null without one, and in 2026-07-28, where agents may share the header. */
    idSession: revision === CURRENT_REVISION ? null : sessionId,
    /** Whether the revision that it names has links to resources. */
    links: WITH_LINKS.has(revision) ? ('shown' as const) : ('told' as const),
    body,
    /** What the request takes of the memory for requests. */
    hold: request.hold,
    memory: toBatchMemory(request, 'messages', body),
    /** `session` is the opaque key of the session a call belongs to. */
    toTrace: (session: string | null): Pick<BatchRequest, 'trace' | 'traceId'> =>
      trace === null ? NO_TRACE : { traceId: trace.traceId, trace: trace.ofBatch({ session }) },
  };
};

// Earlier ones do not name themselves in a header, and their clients refuse a block that they do not know.
const WITH_LINKS: ReadonlySet<unknown> = new Set(['2025-06-18', '2025-11-25', '2026-07-28']);
const NO_TRACE = { trace: null, traceId: null } as const;

/** An error of JSON-RPC 2.0. */
export type RpcError = { readonly code: number; readonly message: string; readonly data?: unknown };

/** Of the range that JSON-RPC 2.0 leaves to servers; the one MCP itself uses for what HTTP has a status for. */
export const SERVER_ERROR = -32_000;
const INTERNAL_ERROR = -32_603;

const DATA_CODES: ReadonlyMap<number, string> = new Map([
  [INTERNAL_ERROR, 'internal_error'],
  [-32_601, 'unknown_method'],
  [-32_602, 'invalid_params'],
  // MCP 2026-07-28: `HeaderMismatch`, `MissingRequiredClientCapability`, `UnsupportedProtocolVersion`.
  [-32_020, 'header_mismatch'],
  [-32_021, 'missing_capability'],
  [-32_022, 'unsupported_revision'],
]);

/** A refusal of the SDK in its own words, with what the `data` of every refusal of the route has. */
export const explainSdkRefusal = (error: unknown, requestId: string): RpcError => {
  const { code, message, data } = SdkRefusal.parse(error);
  return {
    code,
    message,
    data: { code: DATA_CODES.get(code) ?? 'invalid_message', request_id: requestId, ...Object(data) },
  };
};

const SdkRefusal = z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() });

const CODES: ReadonlyMap<string, number> = new Map([
  ['invalid_json', -32_700],
  ['invalid_utf8', -32_700],
  ['invalid_message', -32_600],
  // MCP 2026-07-28, `HeaderMismatch`, `MissingRequiredClientCapability`.
  ['header_mismatch', -32_020],
  ['missing_capability', -32_021],
  // As the SDK's own servers say it of a session that is not there.
  ['session_not_found', -32_001],
  ['internal_error', INTERNAL_ERROR],
]);

/**
 * An error response, under the id of its request; without an id where that is null. JSON-RPC 2.0 asks for `"id": null` there, but
 * the schemas of MCP 2025-11-25 and 2026-07-28 allow a text or an integer only, and their transports say "has no id".
 */
export const writeErrorMessage = (id: string | number | null, error: RpcError): string =>
  JSON.stringify({ jsonrpc: '2.0', ...(id === null ? {} : { id }), error });

/**
 * The id that an answer to this body has to carry. null: it has none, its number was rounded when it was read, or it is itself a
 * response, whose id is one of the server's.
 */
export const requestIdOf = (body: unknown): string | number | null => {
  if (typeof body !== 'object' || body === null || !('id' in body) || 'result' in body || 'error' in body) return null;
  return typeof body.id === 'string' || isSafeInteger(body.id) ? body.id : null;
};

const isSafeInteger = (id: unknown): id is number => Number.isSafeInteger(id);

/** What an error of the HTTP layer is in JSON-RPC. The problem that other routes answer is in `data`. */
export const explainRpcFailure = (error: unknown, requestId: string) => {
  const { problem, headers, isBug } = toHttpFailure(error, requestId);
  const { type: _type, title: _title, status, detail, ...rest } = problem;
  const data = problem.code === 'missing_capability' ? { ...rest, requiredCapabilities: TASKS_CAPABILITY } : rest;
  return { status, headers, isBug, error: { code: CODES.get(problem.code) ?? SERVER_ERROR, message: detail, data } };
};

// The only one that is ever asked for.
const TASKS_CAPABILITY = { extensions: { [TASKS]: {} } } as const;

/** Answers every error of the route as JSON-RPC, with the status it has on other routes. */
export const createRpcErrorHandler =
  (onBug: (error: unknown, requestId: string) => void) =>
  (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { status, headers, isBug, error } = explainRpcFailure(thrown, request.id);
    const id = isJsonBody(request.body) ? requestIdOf(request.body.value) : null;
    const sent = reply.code(status).headers(headers).type('application/json').send(writeErrorMessage(id, error));
    // After the answer: what fails while a bug is reported must not take its place.
    if (isBug) onBug(thrown, request.id);
    return sent;
  };
