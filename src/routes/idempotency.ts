import type { FastifyRequest } from 'fastify';
import type { ToolCallsRequest } from '../contract/tool-call.ts';
import type { CallKeyOf, IdempotencyKey } from '../executor/batch-request.ts';
import type { AsyncTerms } from '../executor/pending-calls.ts';
import { ProblemError } from './problems.ts';

export type RecordKeys = {
  /** An opaque key for a tenant's Idempotency-Key. */
  readonly toRecordKey: (tenant: string, key: string) => string;
  /** An opaque key for a tenant's request id. */
  readonly toRequestKey: (tenant: string, requestId: string) => string;
};

/** Without a key the request id is the record's key: under it the results of pending calls are asked for. */
export const toRequestRecord = (
  { id }: FastifyRequest,
  tenant: string,
  { toRequestKey }: Pick<RecordKeys, 'toRequestKey'>,
): IdempotencyKey => {
  const requestKey = toRequestKey(tenant, id);
  return { key: null, recordKey: requestKey, requestKey };
};

/** The caller's key, bare or quoted as a structured header's text; null where there is none. */
export const readIdempotency = (
  request: FastifyRequest,
  tenant: string,
  asyncTerms: AsyncTerms | null,
  keys: RecordKeys,
): IdempotencyKey | null => {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return asyncTerms === null ? null : toRequestRecord(request, tenant, keys);
  // Node joins two such headers with a comma, and each wanted a key of its own. A comma may also stand in a key.
  if (header.includes(',') && (request.raw.headersDistinct['idempotency-key']?.length ?? 1) > 1)
    throw createKeyProblem('The request has several Idempotency-Key headers. Send one.');
  const key = typeof header === 'string' ? unquote(header) : '';
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw createKeyProblem('Idempotency-Key must be 1 to 255 printable ASCII characters.');
  return { key, recordKey: keys.toRecordKey(tenant, key), requestKey: keys.toRequestKey(tenant, request.id) };
};

const createKeyProblem = (detail: string): ProblemError => new ProblemError(400, 'invalid_idempotency_key', detail);

const unquote = (key: string): string => (/^".*"$/.test(key) ? key.slice(1, -1) : key);

/** What makes keys of the ids of calls, where the envelope asks for that; else null. */
export const readCallKeyOf = (
  { headers }: Pick<FastifyRequest, 'headers'>,
  tenant: string,
  { idempotency, session_id: sessionId }: ToolCallsRequest,
  { toRecordKey }: RecordKeys,
): CallKeyOf | null => {
  if (idempotency !== 'call_id') return null;
  if (headers['idempotency-key'] !== undefined)
    throw createKeyProblem('The request has an Idempotency-Key and idempotency "call_id". Send one of them.');
  return toCallKeyOf(tenant, sessionId ?? null, toRecordKey);
};

/** What makes keys of the ids of calls in a session. No key of a header has a line break: none stands for the record of a call. */
export const toCallKeyOf =
  (tenant: string, sessionId: string | null, toRecordKey: RecordKeys['toRecordKey']): CallKeyOf =>
  (callId) =>
    sessionId === null ? null : toRecordKey(tenant, `call_id\n${JSON.stringify([sessionId, callId])}`);
