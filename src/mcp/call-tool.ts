import { ProtocolError, ProtocolErrorCode, type ServerContext } from '@modelcontextprotocol/server';
import type { ToolDescription } from '../contract/tool-description.ts';
import type { ToolResult } from '../contract/tool-result.ts';
import type { BatchAnswer, BatchRequest, Client, IdempotencyKey } from '../executor/batch-request.ts';
import type { ExecuteBatch } from '../executor/run-batch.ts';
import { holdUntil } from '../routes/answer-hold.ts';
import type { CallParams } from './call-params.ts';
import type { Exchange } from './exchange.ts';
import { createProgressNotifier } from './progress-notifier.ts';
import type { RunningCalls } from './running-calls.ts';
import { type CallResult, toCallResult } from './to-call-result.ts';

export type CallToolOptions = {
  readonly executeBatch: ExecuteBatch;
  readonly describeTools: () => readonly ToolDescription[];
  /** An opaque key for a tenant's session. */
  readonly toSessionKey: (tenant: string, sessionId: string) => string;
  /** An opaque key for a tenant's Idempotency-Key. */
  readonly toRecordKey: (tenant: string, key: string) => string;
  /** An opaque key for a tenant's request id. */
  readonly toRequestKey: (tenant: string, requestId: string) => string;
  readonly createId: () => string;
  readonly maxDeadlineMs: number;
  readonly running: RunningCalls;
};

/**
 * Runs one `tools/call` as a batch of one call. Whatever comes of the call is a result; it rejects with a JSON-RPC error
 * only where its Idempotency-Key is not taken, and nothing has run.
 */
export const callTool = async (
  params: CallParams,
  context: ServerContext,
  exchange: Exchange,
  options: CallToolOptions,
): Promise<CallResult> => {
  const { tenant, key, caller, mayUse, source, requestId, ending } = exchange;
  const sessionId = params._meta?.['recourse/session_id'] ?? exchange.sessionId;
  const sessionKey = sessionId === null ? null : options.toSessionKey(tenant, sessionId);
  const tool = options.describeTools().find(({ name }) => name === params.name);
  const progress = createProgressNotifier(params._meta?.progressToken, context.mcpReq.notify);
  const given = params.arguments ?? exchange.argumentsAside.get(context.mcpReq.id);
  const forget = nameCall(context, exchange, ending, options);
  try {
    const batch: BatchRequest = {
      requestId,
      batchId: options.createId(),
      tenant,
      key,
      caller,
      mayUse,
      sessionKey,
      roundId: params._meta?.['recourse/round_id'] ?? null,
      // Without an id: that of the request is another one when it is sent again under its idempotency key.
      calls: [{ name: params.name, arguments: given }],
      source,
      form: 'message',
      reading: null,
      memory: exchange.memory,
      order: 'parallel',
      onError: 'continue',
      deadlineMs: options.maxDeadlineMs,
      idempotency: toIdempotency(params._meta?.['recourse/idempotency_key'] ?? null, requestId, tenant, options),
      ...exchange.toTrace(sessionKey),
      onProgress: progress.onProgress,
      client: toClient(AbortSignal.any([ending.signal, context.mcpReq.signal])),
    };
    const answer = await holdUntil(exchange.hold, options.executeBatch(batch));
    const promises = tool?.output_schema?.['type'] === 'object' ? 'object' : 'nothing';
    return toCallResult({ result: toResult(answer), requestId, promises });
  } finally {
    progress.end();
    forget();
  }
};

// Without a session nobody can say whose request a cancelled id is: clients count them from 0.
const nameCall = (
  { mcpReq: { id } }: ServerContext,
  { tenant, sessionId }: Exchange,
  ending: AbortController,
  { running, toSessionKey }: CallToolOptions,
): (() => void) =>
  sessionId === null
    ? () => undefined
    : running.add({ sessionKey: toSessionKey(tenant, sessionId), requestId: id }, ending);

const toClient = (signal: AbortSignal): Client => ({
  isGone: () => signal.aborted,
  whenGone: (listener) => {
    if (signal.aborted) listener();
    signal.addEventListener('abort', listener, { once: true });
    return () => signal.removeEventListener('abort', listener);
  },
});

const toIdempotency = (
  key: string | null,
  requestId: string,
  tenant: string,
  { toRecordKey, toRequestKey }: CallToolOptions,
): IdempotencyKey | null =>
  key === null ? null : { key, recordKey: toRecordKey(tenant, key), requestKey: toRequestKey(tenant, requestId) };

// As POST /tool-calls answers 422 and 409: about the key, and not what came of a call.
const toResult = (answer: BatchAnswer): ToolResult => {
  // Written by ourselves a moment ago, or kept since.
  if (answer.kind === 'results') return JSON.parse(answer.results[0] ?? 'null');
  if (answer.kind === 'other_body')
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'This idempotency key came with another call before. Nothing has run; use a new key for a new call.',
      { code: 'idempotency_key_reused' },
    );
  throw new ProtocolError(
    SERVER_ERROR,
    'A call with this idempotency key is still running. Nothing has run now; ask again after retry_after_ms.',
    { code: 'idempotency_key_in_flight', retry_after_ms: answer.retryAfterMs },
  );
};

// Of the range that JSON-RPC 2.0 leaves to servers; the one MCP itself uses for what HTTP has a status for.
const SERVER_ERROR = -32_000;
