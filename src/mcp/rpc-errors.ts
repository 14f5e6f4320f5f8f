import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JsonBody } from '../routes/json-body.ts';
import { toHttpFailure } from '../routes/problem-handler.ts';

/** An error of JSON-RPC 2.0. */
export type RpcError = { readonly code: number; readonly message: string; readonly data?: unknown };

/** Of the range that JSON-RPC 2.0 leaves to servers; the one MCP itself uses for what HTTP has a status for. */
export const SERVER_ERROR = -32_000;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INTERNAL_ERROR = -32_603;
// As the SDK's own servers say it of a session that is not there.
const SESSION_NOT_FOUND = -32_001;
// MCP 2026-07-28, `HeaderMismatch`.
const HEADER_MISMATCH = -32_020;

/** The `code` in `data` of an error that the SDK answers without one. */
export const toDataCode = (code: unknown): string => (code === INTERNAL_ERROR ? 'internal_error' : 'invalid_message');

const CODES: ReadonlyMap<string, number> = new Map([
  ['invalid_json', PARSE_ERROR],
  ['invalid_utf8', PARSE_ERROR],
  ['invalid_message', INVALID_REQUEST],
  ['header_mismatch', HEADER_MISMATCH],
  ['session_not_found', SESSION_NOT_FOUND],
  ['internal_error', INTERNAL_ERROR],
]);

/** An error response, under the id of its request; null where that cannot be told. */
export const toErrorMessage = (id: string | number | null, error: RpcError): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error });

/** The id that an answer to this body has to carry; null where it is none, as for a number that was rounded when it was read. */
export const requestIdOf = (body: unknown): string | number | null => {
  if (typeof body !== 'object' || body === null || !('id' in body) || !('method' in body)) return null;
  return typeof body.id === 'string' || isSafeInteger(body.id) ? body.id : null;
};

const isSafeInteger = (id: unknown): id is number => Number.isSafeInteger(id);

export const isJsonBody = (body: unknown): body is JsonBody =>
  typeof body === 'object' && body !== null && 'source' in body && typeof body.source === 'string';

/** What an error of the HTTP layer is in JSON-RPC. The problem that other routes answer is in `data`. */
export const toRpcFailure = (error: unknown, requestId: string) => {
  const { problem, headers, isBug } = toHttpFailure(error, requestId);
  const { type: _type, title: _title, status, detail, ...data } = problem;
  return { status, headers, isBug, error: { code: CODES.get(problem.code) ?? SERVER_ERROR, message: detail, data } };
};

/** Answers every error of the route as JSON-RPC, with the status it has on other routes. */
export const createRpcErrorHandler =
  (onBug: (error: unknown, requestId: string) => void) =>
  (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { status, headers, isBug, error } = toRpcFailure(thrown, request.id);
    const id = isJsonBody(request.body) ? requestIdOf(request.body.value) : null;
    const sent = reply.code(status).headers(headers).type('application/json').send(toErrorMessage(id, error));
    // After the answer: what fails while a bug is told of must not take its place.
    if (isBug) onBug(thrown, request.id);
    return sent;
  };
