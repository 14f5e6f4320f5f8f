import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Warning } from '../contract/tool-result.ts';
import type { BatchAnswer, BatchRequest, Client, IdempotencyKey } from '../executor/batch-request.ts';
import type { ReadProviderCalls } from '../executor/provider-calls.ts';
import type { ExecuteBatch } from '../executor/run-batch.ts';
import { readObservedResult } from '../formats/observed-result.ts';
import { holdUntil, requireRoomForReplay, toAnswerMemory } from './answer-hold.ts';
import type { JsonBody } from './json-body.ts';
import { findMisspelledHeaders } from './misspelled-members.ts';
import { ProblemError } from './problem-handler.ts';
import { readTurn, type Turn, type TurnDialect } from './read-turn.ts';
import { callerKeyOf } from './request-gate.ts';
import { type ResultsBody, sendAnswer, toResultsJson } from './results-body.ts';

export type ToolCallsOptions = {
  readonly executeBatch: ExecuteBatch;
  /** What a provider's model means by its calls. */
  readonly readProviderCalls: ReadProviderCalls;
  readonly callerOf: (request: FastifyRequest) => {
    readonly tenant: string;
    readonly key: string | null;
    readonly id: string | null;
    readonly mayUse: (tool: string) => boolean;
  };
  /** An opaque key for a tenant's session. */
  readonly toSessionKey: (tenant: string, sessionId: string) => string;
  /** An opaque key for a tenant's Idempotency-Key. */
  readonly toRecordKey: (tenant: string, key: string) => string;
  /** An opaque key for a tenant's request id. */
  readonly toRequestKey: (tenant: string, requestId: string) => string;
  readonly createId: () => string;
  readonly maxDeadlineMs: number;
};

/**
 * POST /tool-calls: strict on the envelope, deaf to what is inside a call, 200 for whatever comes of the calls. The
 * envelope may be ours or the message of a model, which is answered in kind.
 */
export const addToolCallsRoute = (app: FastifyInstance, options: ToolCallsOptions): void => {
  // Not async: it sends at once what is there at once.
  app.post(
    '/tool-calls',
    { config: { operation: 'executeToolCalls' } },
    (request: FastifyRequest, reply: FastifyReply) => {
      const { value, source } = toBody(request.body);
      const turn = readTurn(value, request.query);
      const batch = toBatch(turn, source, reply, options);
      const answer = holdUntil(request.hold, options.executeBatch(batch));
      if (answer instanceof Promise) return answer.then((known) => send(known, turn, reply));
      send(answer, turn, reply);
      return undefined;
    },
  );
};

const toBatch = (
  { envelope, dialect }: Turn,
  source: string,
  { request, raw }: FastifyReply,
  options: ToolCallsOptions,
): BatchRequest => {
  const { tenant, key, id, mayUse } = options.callerOf(request);
  const { session_id: sessionId, deadline_ms: deadlineMs } = envelope;
  const sessionKey = typeof sessionId === 'string' ? options.toSessionKey(tenant, sessionId) : null;
  const habit = dialect?.habit ?? null;
  const { trace } = request;
  return {
    requestId: request.id,
    // The id made for the request will do, unless the caller chose it: its ids may come twice.
    batchId: request.headers['x-request-id'] === undefined ? request.id : options.createId(),
    tenant,
    key,
    caller: callerKeyOf(request),
    callerId: id,
    mayUse,
    sessionKey,
    roundId: envelope.round_id ?? null,
    calls: envelope.calls,
    form: dialect === null ? 'calls' : 'message',
    reading: habit === null ? null : options.readProviderCalls(habit),
    source,
    order: envelope.order,
    onError: envelope.on_error,
    deadlineMs: Math.min(deadlineMs ?? options.maxDeadlineMs, options.maxDeadlineMs),
    idempotency: toIdempotency(request, tenant, options),
    client: new ReplyClient(raw),
    memory: toAnswerMemory(request, dialect === null ? 'results' : 'messages'),
    onProgress: null,
    traceId: trace === null ? null : trace.traceId,
    trace: trace === null ? null : trace.ofBatch({ session: sessionKey }),
  };
};

const send = (answer: BatchAnswer, { envelope, dialect, warnings: ofMembers }: Turn, reply: FastifyReply): void => {
  const results = toResults(answer);
  const { request } = reply;
  const origin = answer.kind === 'results' ? answer.origin : 'run';
  if (origin === 'replayed') requireRoomForReplay(request, results, dialect === null ? 'results' : 'messages');
  const ofHeaders = findMisspelledHeaders(request.headers);
  const warnings = ofHeaders.length === 0 ? ofMembers : [...ofMembers, ...ofHeaders];
  // Where nothing but the messages is sent, there is no other place for them.
  if (warnings.length > 0 && dialect?.answer === 'messages')
    reply.raw.setHeader(WARNING_HEADER, toHeaderText(warnings));
  const body = { requestId: request.id, sessionId: envelope.session_id ?? null, results, warnings };
  sendAnswer(reply, dialect === null ? toResultsJson(body) : toTurnJson(body, dialect), origin);
};

const WARNING_HEADER = 'recourse-warning';

const toHeaderText = (warnings: readonly Warning[]): string =>
  warnings
    .map(({ code, message }) => `${code}: ${message}`)
    .join(' ')
    .replace(/[^\x20-\x7e]/g, '?');

const toTurnJson = (body: ResultsBody, dialect: TurnDialect): string => {
  const messages = dialect.toMessages(body.results.map(readObservedResult));
  if (dialect.answer === 'messages') return JSON.stringify(dialect.toRaw(messages));
  return toResultsJson({ ...body, turn: { format: dialect.format, messages } });
};

const isJsonBody = (body: unknown): body is JsonBody =>
  typeof body === 'object' && body !== null && 'source' in body && typeof body.source === 'string';

const toBody = (body: unknown): JsonBody => {
  if (isJsonBody(body)) return body;
  throw new ProblemError(400, 'invalid_json', 'The body is empty. Send a JSON object with calls, as application/json.');
};

/** The caller's key, bare or quoted as a structured header's text; null where there is none. */
const toIdempotency = (request: FastifyRequest, tenant: string, options: ToolCallsOptions): IdempotencyKey | null => {
  const given = request.headers['idempotency-key'];
  if (given === undefined) return null;
  const key = typeof given === 'string' ? unquote(given) : '';
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw createKeyProblem();
  const { toRecordKey, toRequestKey } = options;
  return { key, recordKey: toRecordKey(tenant, key), requestKey: toRequestKey(tenant, request.id) };
};

const createKeyProblem = (): ProblemError =>
  new ProblemError(400, 'invalid_idempotency_key', 'Idempotency-Key must be 1 to 255 printable ASCII characters.');

const unquote = (key: string): string => (/^".*"$/.test(key) ? key.slice(1, -1) : key);

const toResults = (answer: BatchAnswer): readonly string[] => {
  if (answer.kind === 'results') return answer.results;
  throw answer.kind === 'other_body' ? createReusedKeyProblem() : createKeyInFlightProblem(answer.retryAfterMs);
};

/** What a batch is answered whose key came with another body before. */
export const createReusedKeyProblem = (): ProblemError =>
  new ProblemError(
    422,
    'idempotency_key_reused',
    'This Idempotency-Key came with another body before. Nothing has run; use a new key for a new batch.',
  );

/** What a batch is answered whose key belongs to one that still runs. */
export const createKeyInFlightProblem = (retryAfterMs: number): ProblemError =>
  new ProblemError(
    409,
    'idempotency_key_in_flight',
    'A batch with this Idempotency-Key is still running. Nothing has run now; ask again after the time in Retry-After.',
    { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) },
  );

// Not request.signal: up to fastify 5.12 it aborts once a POST body has been read (fastify#6725).
class ReplyClient implements Client {
  readonly #answer: ServerResponse;

  constructor(answer: ServerResponse) {
    this.#answer = answer;
  }

  isGone(): boolean {
    return this.#answer.destroyed;
  }

  whenGone(listener: () => void): () => void {
    const answer = this.#answer;
    const onClose = (): void => {
      if (!answer.writableFinished) listener();
    };
    // It may have gone while its body was being read.
    if (answer.destroyed) listener();
    answer.once('close', onClose);
    return () => answer.off('close', onClose);
  }
}
