import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RenderedResult, Warning } from '../contract/tool-result.ts';
import type { BatchAnswer, BatchRequest, Client, ExecuteBatch } from '../executor/batch-request.ts';
import type { AsyncTerms } from '../executor/pending-calls.ts';
import type { AnsweredCalls } from './answered-calls.ts';
import { isJsonBody, type JsonBody } from './body-parsers.ts';
import type { Dialects, ReadProviderCalls } from './dialects.ts';
import { type StreamOptions, toStreamFormat, whenClosed } from './event-stream.ts';
import { type RecordKeys, readCallKeyOf, readIdempotency, toRequestRecord } from './idempotency.ts';
import { findMisspelledHeaders } from './misspellings.ts';
import { noPlace, type OpenReadings } from './open-readings.ts';
import { type PreferAsyncOptions, readAsyncTerms } from './prefer-async.ts';
import { ProblemError } from './problems.ts';
import { readTurn, type Turn, type TurnDialect } from './read-turn.ts';
import { callerKeyOf } from './request-gate.ts';
import { holdUntil, type MemoryForm, requireRoomForReplay, toBatchMemory } from './request-memory.ts';
import type { Reading } from './route-host.ts';
import { type ResultsBody, sendAnswer, sendAsyncAnswer, toResultsJson, toResultsTail } from './send-answer.ts';
import { type BatchStream, createBatchStream } from './stream-batch.ts';

export type ToolCallsOptions = PreferAsyncOptions & {
  readonly dialects: Dialects;
  readonly executeBatch: ExecuteBatch;
  /** What a provider's model means by its calls. */
  readonly readProviderCalls: ReadProviderCalls;
  readonly callerOf: (request: FastifyRequest) => {
    readonly tenant: string;
    readonly key: string | null;
    readonly keyHash?: string;
    readonly id: string | null;
    readonly mayUse: (tool: string) => boolean;
  };
  /** An opaque key for a tenant's session. */
  readonly toSessionKey: (tenant: string, sessionId: string) => string;
  readonly toRecordKey: RecordKeys['toRecordKey'];
  readonly toRequestKey: RecordKeys['toRequestKey'];
  readonly createId: () => string;
  readonly streams: StreamOptions;
  readonly readings: OpenReadings;
  /** Tells of calls that go on after their batch is answered. */
  readonly followAnswered: AnsweredCalls['follow'];
  readonly watchParts: AnsweredCalls['watchParts'];
};

/**
 * POST /tool-calls: strict on the envelope, deaf to what is inside a call, 200 for whatever comes of the calls. The
 * envelope may be ours or the message of a model, which is answered in kind; the answer a body, or a stream of events that
 * comes to the same.
 */
export const addToolCallsRoute = (app: FastifyInstance, options: ToolCallsOptions): void => {
  // Not async: it sends at once what is there at once.
  app.post('/tool-calls', (request: FastifyRequest, reply: FastifyReply) => {
    const body = toBody(request.body);
    const turn = readTurn(body.value, request.query, options.dialects);
    const terms = readAsyncTerms(request, turn.envelope, options.callerOf(request).tenant, options);
    const reading = toWaitReading(terms, reply, options);
    const stream = reading === null ? null : toStream(turn, reading, reply, options);
    const batch = toBatch({ turn, body, stream, terms, reading }, reply, options);
    const answering = { reply, stream, batch, options };
    const answer = holdUntil(batch, options.executeBatch(batch));
    if (answer instanceof Promise)
      return answer.then((known) => {
        if (stream === null) reading?.requireRight();
        send(known, turn, answering);
      });
    send(answer, turn, answering);
    return undefined;
  });
};

/** The place of an answer that is a stream, or that may wait for pending calls; null: it is neither, or must not wait. */
const toWaitReading = (
  terms: AsyncTerms | null,
  reply: FastifyReply,
  { readings }: ToolCallsOptions,
): Reading | null => {
  const isStream = toStreamFormat(reply.request.headers.accept) !== null;
  if (!isStream && (terms === null || terms.waitMs === 0)) return null;
  const reading = readings.open(reply);
  // Nothing has run. A batch that would only wait for its calls is accepted all the same, and answered at once.
  if (reading === null && isStream) throw noPlace();
  return reading;
};

/** The stream that the caller asked for; null: it gets one body. */
const toStream = (
  { envelope }: Turn,
  reading: Reading,
  reply: FastifyReply,
  { streams, watchParts, callerOf }: ToolCallsOptions,
): BatchStream | null => {
  const format = toStreamFormat(reply.request.headers.accept);
  if (format === null) return null;
  const { tenant } = callerOf(reply.request);
  return createBatchStream(reply, envelope.session_id ?? null, { ...streams, format, tenant, watchParts, reading });
};

/** How an answer is sent. */
type Answering = {
  readonly reply: FastifyReply;
  readonly stream: BatchStream | null;
  readonly batch: BatchRequest;
  readonly options: ToolCallsOptions;
};
type AcceptedTurn = Pick<Answering, 'stream'> & {
  readonly reading: Reading | null;
  readonly turn: Turn;
  readonly body: JsonBody;
  readonly terms: AsyncTerms | null;
};

const toBatch = (
  { turn: { envelope, dialect }, body, stream, terms, reading }: AcceptedTurn,
  { request, raw }: FastifyReply,
  options: ToolCallsOptions,
): BatchRequest => {
  const { tenant, key, keyHash, id, mayUse } = options.callerOf(request);
  const { session_id: sessionId, deadline_ms: deadlineMs } = envelope;
  const sessionKey = typeof sessionId === 'string' ? options.toSessionKey(tenant, sessionId) : null;
  const { trace } = request;
  return {
    requestId: request.id,
    // The id made for the request will do, unless the caller chose it: its ids may come twice.
    batchId: request.headers['x-request-id'] === undefined ? request.id : options.createId(),
    tenant,
    key,
    keyHash,
    caller: callerKeyOf(request),
    callerId: id,
    mayUse,
    sessionKey,
    roundId: envelope.round_id ?? null,
    calls: envelope.calls,
    form: dialect === null ? 'calls' : 'message',
    reading: toReading(dialect, options),
    body,
    order: envelope.order,
    onError: envelope.on_error,
    deadlineMs: Math.min(deadlineMs ?? options.maxDeadlineMs, options.maxDeadlineMs),
    idempotency: readIdempotency(request, tenant, terms, options),
    callKeyOf: readCallKeyOf(request, tenant, envelope, options),
    pendingRecord: () => toRequestRecord(request, tenant, options),
    // Whoever prefers an asynchronous answer may go: its calls go on.
    client: terms === null ? toClient(raw, reading) : NEVER_GONE,
    async: terms === null ? null : toWaitTerms(terms, reading),
    memory: toBatchMemory(request, toMemoryForm(dialect, stream), body),
    listener: stream?.listener ?? toToolListener(reading),
    traceId: trace === null ? null : trace.traceId,
    trace: trace === null ? null : trace.ofBatch({ session: sessionKey }),
  };
};

const toReading = (dialect: TurnDialect | null, { readProviderCalls }: ToolCallsOptions): BatchRequest['reading'] => {
  const habit = dialect?.habit ?? null;
  return habit === null ? null : readProviderCalls(habit);
};

/** Without a place it does not wait. */
const toWaitTerms = (terms: AsyncTerms, reading: Reading | null): AsyncTerms =>
  reading === null ? { ...terms, waitMs: 0 } : { ...terms, over: reading.over };

const toToolListener = (reading: Reading | null): BatchRequest['listener'] =>
  reading === null ? null : { accepted: (calls) => reading.shows(calls.map(({ name }) => name)) };

/** A stream that ends because its key was revoked cancels nothing: its calls were let in. */
const toClient = (raw: ServerResponse, reading: Reading | null): Client => {
  const client = new ReplyClient(raw);
  if (reading === null) return client;
  const isGone = (): boolean => client.isGone() && !reading.isLost();
  return {
    isGone,
    whenGone: (listener) =>
      client.whenGone(() => {
        if (isGone()) listener();
      }),
  };
};

const NEVER_GONE: Client = { isGone: () => false, whenGone: () => () => undefined };

const toMemoryForm = (dialect: TurnDialect | null, stream: BatchStream | null): MemoryForm => {
  if (stream === null) return dialect === null ? 'results' : 'messages';
  return dialect === null ? 'streamed results' : 'streamed messages';
};

const send = (
  answer: BatchAnswer,
  { envelope, dialect, warnings: ofMembers }: Turn,
  { reply, stream, batch, options }: Answering,
): void => {
  const { results, origin, status, isFound = true } = toResults(answer, batch);
  const { request } = reply;
  if (origin === 'replayed') requireRoomForReplay(request, results, toMemoryForm(dialect, stream));
  const warnings = withHeaderWarnings(ofMembers, request);
  if (stream !== null) {
    const toTail = (last: readonly RenderedResult[]): string =>
      toResultsTail({ warnings, ...toTurn(last, dialect, options.dialects) });
    void finishStream(stream, { results, origin, toTail, follow: toFollow(results, status, reply, options) });
    return;
  }
  // Where nothing but the messages is sent, there is no other place for them.
  if (warnings.length > 0 && dialect?.answer === 'messages')
    reply.raw.setHeader(WARNING_HEADER, toHeaderText(warnings));
  const body = { requestId: request.id, sessionId: envelope.session_id ?? null, status, results, warnings };
  const json = dialect === null ? toResultsJson(body) : toTurnJson(body, dialect, options.dialects);
  if (status === undefined) sendAnswer(reply, json, origin);
  else sendAsyncAnswer(reply, json, { origin, status, isFound, preferred: (batch.async ?? null) !== null });
};

// A stream that breaks says so by its end: there is nobody else to tell.
const finishStream = async (stream: BatchStream, end: Parameters<BatchStream['finish']>[0]): Promise<void> => {
  await stream.finish(end).catch(() => undefined);
};

const toFollow = (
  results: readonly RenderedResult[],
  status: 'pending' | 'done' | undefined,
  reply: FastifyReply,
  { followAnswered, callerOf }: ToolCallsOptions,
): Parameters<BatchStream['finish']>[0]['follow'] => {
  const { tenant } = callerOf(reply.request);
  return status === 'pending' ? (listener) => followAnswered(tenant, results, listener, whenClosed(reply)) : null;
};

const withHeaderWarnings = (warnings: readonly Warning[], { headers }: FastifyRequest): readonly Warning[] => {
  const ofHeaders = findMisspelledHeaders(headers);
  return ofHeaders.length === 0 ? warnings : [...warnings, ...ofHeaders];
};

const WARNING_HEADER = 'recourse-warning';

const toHeaderText = (warnings: readonly Warning[]): string =>
  warnings
    .map(({ code, message }) => `${code}: ${message}`)
    .join(' ')
    .replace(/[^\x20-\x7e]/g, '?');

/** The conversation that a stream ends with: with `raw` what would else be the whole body. */
const toTurn = (
  results: readonly RenderedResult[],
  dialect: TurnDialect | null,
  { readObservedResult }: Dialects,
): Pick<ResultsBody, 'turn'> => {
  if (dialect === null) return {};
  const messages = dialect.toMessages(results.map(readObservedResult));
  const sent = dialect.answer === 'messages' ? dialect.toRaw(messages) : messages;
  return { turn: { format: dialect.format, messages: sent } };
};

const toTurnJson = (body: ResultsBody, dialect: TurnDialect, { readObservedResult }: Dialects): string => {
  const messages = dialect.toMessages(body.results.map(readObservedResult));
  if (dialect.answer === 'messages') return JSON.stringify(dialect.toRaw(messages));
  return toResultsJson({ ...body, turn: { format: dialect.format, messages } });
};

const toBody = (body: unknown): JsonBody => {
  if (isJsonBody(body)) return body;
  throw new ProblemError(400, 'invalid_json', 'The body is empty. Send a JSON object with calls, as application/json.');
};

const toResults = (answer: BatchAnswer, { idempotency }: BatchRequest): Extract<BatchAnswer, { kind: 'results' }> => {
  if (answer.kind === 'results') return answer;
  const chosen = idempotency?.key === null ? 'X-Request-Id' : 'Idempotency-Key';
  throw answer.kind === 'other_body'
    ? createReusedKeyProblem(chosen)
    : createKeyInFlightProblem(answer.retryAfterMs, chosen);
};

/** The header whose value is the key of a record: the request id where an asynchronous batch came without a key. */
type KeyHeader = 'Idempotency-Key' | 'X-Request-Id';

const REUSED = {
  'Idempotency-Key':
    'This Idempotency-Key was already used with a different body. Nothing has run; use a new key for a new batch.',
  'X-Request-Id':
    'The results of a different asynchronous batch are stored under this X-Request-Id. Nothing has run; use a new request id for a new batch, or leave it out.',
} as const satisfies Readonly<Record<KeyHeader, string>>;

/** What a batch is answered whose key came with another body before. */
export const createReusedKeyProblem = (header: KeyHeader): ProblemError =>
  new ProblemError(422, 'idempotency_key_reused', REUSED[header]);

/** What a batch is answered whose key belongs to one that still runs. */
export const createKeyInFlightProblem = (retryAfterMs: number, header: KeyHeader): ProblemError =>
  new ProblemError(
    409,
    'idempotency_key_in_flight',
    `A batch with this ${header} is still running. This request ran nothing; retry after the time in Retry-After.`,
    { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) },
  );

// Not request.signal: up to fastify 5.12 it aborts once a POST body has been read (fastify#6725).
export class ReplyClient implements Client {
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
