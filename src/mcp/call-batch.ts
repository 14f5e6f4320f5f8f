import type { BatchRequest, Client, IdempotencyKey } from '../executor/batch-request.ts';
import type { ExecuteBatch } from '../executor/run-batch.ts';
import type { CallParams } from './call-params.ts';
import type { Exchange } from './exchange.ts';
import type { RunningCalls } from './running-calls.ts';

export type CallOptions = {
  readonly executeBatch: ExecuteBatch;
  /** What results promise of a tool's answer, and which headers repeat its arguments. */
  readonly findTool: (name: string) => DoorTool | undefined;
  /** An opaque key for a tenant's session. */
  readonly toSessionKey: (tenant: string, sessionId: string) => string;
  /** An opaque key for a tenant's Idempotency-Key. */
  readonly toRecordKey: (tenant: string, key: string) => string;
  /** An opaque key for a tenant's request id. */
  readonly toRequestKey: (tenant: string, requestId: string) => string;
  readonly createId: () => string;
  readonly maxDeadlineMs: number;
  /** The session of a call that names none: none, or one for all such calls of a key. */
  readonly mcpDefaultSession: 'none' | 'key';
  readonly running: RunningCalls;
};

/** A tool as far as the door looks at it. */
export type DoorTool = {
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema: Readonly<Record<string, unknown>> | null;
};

export type AskedCall = {
  readonly params: CallParams;
  /** The arguments as they were sent, whatever they are: the executor judges them. */
  readonly given: unknown;
  readonly client: Client;
  readonly onProgress: BatchRequest['onProgress'];
};

/** One `tools/call` as a batch of one call. */
export const toCallBatch = (
  { params, given, client, onProgress }: AskedCall,
  exchange: Exchange,
  options: CallOptions,
): BatchRequest => {
  const { requestId, tenant, key, caller, callerId, mayUse, source, memory } = exchange;
  const { name, _meta: meta } = params;
  const sessionId = meta?.['recourse/session_id'] ?? exchange.sessionId ?? toDefaultSession(key, options);
  const sessionKey = sessionId === null ? null : options.toSessionKey(tenant, sessionId);
  const { trace, traceId } = exchange.toTrace(sessionKey);
  return {
    requestId,
    batchId: options.createId(),
    tenant,
    key,
    caller,
    callerId,
    mayUse,
    sessionKey,
    roundId: meta?.['recourse/round_id'] ?? null,
    // Without a session the next request has a budget of its own.
    retries: sessionKey === null ? 'untold' : 'told',
    // Without an id: that of the request is another one when it is sent again under its idempotency key.
    calls: [{ name, arguments: given }],
    source,
    form: 'message',
    reading: null,
    memory,
    order: 'parallel',
    onError: 'continue',
    deadlineMs: options.maxDeadlineMs,
    idempotency: toIdempotency(meta?.['recourse/idempotency_key'] ?? null, exchange, options),
    client,
    onProgress,
    trace,
    traceId,
  };
};

// As docs/mcp-server.md names it, for GET /sessions/{id}.
const toDefaultSession = (key: string | null, { mcpDefaultSession }: CallOptions): string | null => {
  if (mcpDefaultSession === 'none') return null;
  return key === null ? 'mcp' : `mcp:${key}`;
};

const toIdempotency = (
  key: string | null,
  { tenant, requestId }: Exchange,
  { toRecordKey, toRequestKey }: CallOptions,
): IdempotencyKey | null =>
  key === null ? null : { key, recordKey: toRecordKey(tenant, key), requestKey: toRequestKey(tenant, requestId) };

/** Lets `notifications/cancelled` of the same session end a call. Gives the way to take it out again. */
export const nameCall = (
  requestId: string | number,
  { tenant, idSession }: Exchange,
  end: () => void,
  { running, toSessionKey }: CallOptions,
): (() => void) =>
  // Without a session nobody can say whose request a cancelled id is: clients count them from 0.
  idSession === null ? () => undefined : running.add({ sessionKey: toSessionKey(tenant, idSession), requestId }, end);

/** What results promise of a tool's answers: clients hold them against its output schema. */
export const promisesOf = (name: string, { findTool }: Pick<CallOptions, 'findTool'>): 'object' | 'nothing' =>
  findTool(name)?.outputSchema?.['type'] === 'object' ? 'object' : 'nothing';
