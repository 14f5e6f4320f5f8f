import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RenderedResult, Warning } from '../contract/tool-result.ts';
import type { BatchAnswer, BatchRequest, ExecuteBatch } from '../executor/batch-request.ts';
import type { Client } from '../executor/deadline.ts';
import type { AsyncTerms } from '../executor/pending-calls.ts';
import type { AnsweredCalls } from './answered-calls.ts';
import { isJsonBody, type JsonBody } from './body-parsers.ts';
import type { Dialects, ReadProviderCalls } from './dialects.ts';
import { negotiateStream, type StreamOptions } from './event-stream.ts';
import { type RecordKeys, readCallKeyOf, readIdempotency, toRequestRecord } from './idempotency.ts';
import { findMisspelledHeaders } from './misspellings.ts';
import { noPlace, type OpenReadings } from './open-readings.ts';
import { type PreferAsyncOptions, readAsyncTerms } from './prefer-async.ts';
import { ProblemError } from './problems.ts';
import { type Message, readMessage } from './read-message.ts';
import { callerKeyOf, callerOf } from './request-gate.ts';
import { leaseUntil, requireRoomForReplay, toBatchMemory } from './request-memory.ts';
import type { Reading } from './route-host.ts';
import { type ResultsBody, sendAnswer, sendAsyncAnswer, toResultsJson, toResultsTail } from './send-answer.ts';
import { type BatchStream, createBatchStream } from './stream-batch.ts';

export type ToolCallsOptions = PreferAsyncOptions &
  RecordKeys & {
    readonly dialects: Dialects;
    readonly executeBatch: ExecuteBatch;
    /** Says what the calls of a batch would do. */
    readonly dryRun: ExecuteBatch;
    /** What a provider's model means by its calls. */
    readonly readProviderCalls: ReadProviderCalls;
    /** An opaque key for a tenant's session. */
    readonly toSessionKey: (tenant: string, sessionId: string) => string;
    readonly createId: () => string;
    readonly streams: StreamOptions;
    readonly readings: OpenReadings;
    /** Notifies of calls that go on after their batch is answered. */
    readonly answered: Pick<AnsweredCalls, 'follow' | 'watchParts'>;
  };

/** One request: what it asks for, and how it is answered. */
type Exchange = {
  readonly reply: FastifyReply;
  readonly body: JsonBody;
  readonly message: Message;
  /** null: it waits until the end of its calls. */
  readonly terms: AsyncTerms | null;
  /** The place of an answer that is a stream, or that may wait for pending calls; null: it is neither, or must not wait. */
  readonly reading: Reading | null;
  /** null: the answer is one body. */
  readonly stream: BatchStream | null;
};

/**
 * POST /tool-calls: strict on the envelope, deaf to what is inside a call, 200 for whatever comes of the calls. The
 * envelope may be ours or the message of a model, which is answered in kind; the answer a body, or a stream of events that
 * comes to the same.
 */
export const addToolCallsRoute = (app: FastifyInstance, options: ToolCallsOptions): void => {
  // Not async: it sends at once what is there at once.
  app.post('/tool-calls', (_request, reply) => {
    const exchange = openExchange(reply, options);
    const batch = createBatch(exchange, options);
    const { executeBatch, dryRun } = options;
    const execute = exchange.message.envelope.dry_run === true ? dryRun : executeBatch;
    const answer = leaseUntil(batch, execute(batch));
    if (answer instanceof Promise)
      return answer.then((known) => {
        if (exchange.stream === null) exchange.reading?.requireRight();
        send(known, batch, exchange, options);
      });
    send(answer, batch, exchange, options);
    return undefined;
  });
};

const openExchange = (reply: FastifyReply, options: ToolCallsOptions): Exchange => {
  const { request } = reply;
  const { tenant } = callerOf(request);
  const body = readBody(request.body);
  const message = readMessage(body.value, request.query, options.dialects);
  const terms = readAsyncTerms(request, message.envelope, tenant, options);
  const format = negotiateStream(request.headers.accept);
  const mayWait = format !== null || (terms !== null && terms.waitMs !== 0);
  if (message.envelope.dry_run === true) refuseWaiting(mayWait || terms !== null);
  const reading = mayWait ? options.readings.open(reply) : null;
  // Nothing has run. A batch that would only wait for its calls is accepted all the same, and answered at once.
  if (reading === null && format !== null) throw noPlace();
  const stream =
    reading === null || format === null
      ? null
      : createBatchStream(reply, {
          ...options,
          requestId: request.id,
          sessionId: message.envelope.session_id ?? null,
          ...{ format, tenant, reading },
        });
  return { reply, body, message, terms, reading, stream };
};

const refuseWaiting = (waits: boolean): void => {
  if (waits)
    throw new ProblemError(
      400,
      'invalid_query',
      'dry_run: nothing runs, so there is nothing to stream or to wait for. Leave out wait_ms and Prefer: respond-async, and accept application/json.',
    );
};

const readBody = (body: unknown): JsonBody => {
  if (isJsonBody(body)) return body;
  throw new ProblemError(400, 'invalid_json', 'The body is empty. Send a JSON object with calls, as application/json.');
};

const createBatch = (exchange: Exchange, options: ToolCallsOptions): BatchRequest => {
  const { reply, body, message, stream, terms, reading } = exchange;
  const { request, raw } = reply;
  const { envelope, dialect } = message;
  const { tenant, key, keyHash, id, mayUse } = callerOf(request);
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
    reading: findCallReading(dialect, options),
    body,
    order: envelope.order,
    onError: envelope.on_error,
    deadlineMs: Math.min(deadlineMs ?? options.maxDeadlineMs, options.maxDeadlineMs),
    idempotency: readIdempotency(request, tenant, terms, options),
    callKeyOf: readCallKeyOf(request, tenant, envelope, options),
    pendingRecord: () => toRequestRecord(request, tenant, options),
    // Whoever prefers an asynchronous answer may go: its calls go on.
    client: terms === null ? createClient(raw, reading) : NEVER_GONE,
    async: terms === null ? null : limitWait(terms, reading),
    memory: toBatchMemory(request, findMemoryForm(exchange), body),
    listener: stream?.listener ?? createToolListener(reading),
    traceId: trace === null ? null : trace.traceId,
    trace: trace === null ? null : trace.ofBatch({ session: sessionKey }),
  };
};

const findCallReading = (dialect: Message['dialect'], { readProviderCalls }: ToolCallsOptions) =>
  dialect === null || dialect.schemaMode === null ? null : readProviderCalls(dialect.schemaMode);

/** Without a place it does not wait. */
const limitWait = (terms: AsyncTerms, reading: Reading | null): AsyncTerms =>
  reading === null ? { ...terms, waitMs: 0 } : { ...terms, over: reading.over };

const createToolListener = (reading: Reading | null): BatchRequest['listener'] =>
  reading === null ? null : { accepted: (calls) => reading.shows(calls.map(({ name }) => name)) };

/** A stream that ends because its key was revoked cancels nothing: its calls were let in. */
const createClient = (raw: ServerResponse, reading: Reading | null): Client => {
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

const findMemoryForm = ({ message: { dialect }, stream }: Exchange) => {
  if (stream === null) return dialect === null ? 'results' : 'messages';
  return dialect === null ? 'streamed results' : 'streamed messages';
};

const send = (answer: BatchAnswer, batch: BatchRequest, exchange: Exchange, { dialects }: ToolCallsOptions): void => {
  const { results, origin, status, isFound = true } = requireResults(answer, batch);
  const { reply, message, stream } = exchange;
  const { request } = reply;
  const { envelope, dialect } = message;
  if (origin === 'replayed') requireRoomForReplay(request, results, findMemoryForm(exchange));
  const warnings = withHeaderWarnings(message.warnings, request);
  if (stream !== null) {
    const toTail = (last: readonly RenderedResult[]): string =>
      toResultsTail({ warnings, conversation: writeConversation(last, dialect, dialects) });
    void stream.finish({ results, origin, toTail, isPending: status === 'pending' });
    return;
  }
  const conversation = writeConversation(results, dialect, dialects);
  const isRaw = dialect?.answer === 'messages';
  // Where nothing but the messages is sent, there is no other place for them.
  if (warnings.length > 0 && isRaw) reply.raw.setHeader(WARNING_HEADER, toHeaderText(warnings));
  const sessionId = envelope.session_id ?? null;
  const json = isRaw
    ? JSON.stringify(conversation?.messages)
    : toResultsJson({ requestId: request.id, sessionId, status, results, warnings, conversation });
  if (status === undefined) sendAnswer(reply, json, origin);
  else sendAsyncAnswer(reply, json, { origin, status, isFound, preferred: (batch.async ?? null) !== null });
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

/** What the conversation goes on with: with `raw` the whole body. */
const writeConversation = (
  results: readonly RenderedResult[],
  dialect: Message['dialect'],
  { readObservedResult }: Dialects,
): ResultsBody['conversation'] => {
  if (dialect === null) return undefined;
  const messages = dialect.toMessages(results.map(readObservedResult));
  return { format: dialect.format, messages: dialect.answer === 'messages' ? dialect.toRaw(messages) : messages };
};

const requireResults = (answer: BatchAnswer, { idempotency }: BatchRequest) => {
  if (answer.kind === 'results') return answer;
  const header = idempotency?.key === null ? 'X-Request-Id' : 'Idempotency-Key';
  throw answer.kind === 'other_body'
    ? createReusedKeyProblem(header)
    : createKeyInFlightProblem(answer.retryAfterMs, header);
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
