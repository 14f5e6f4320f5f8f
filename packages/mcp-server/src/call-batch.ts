import { ToolCallsRequest } from 'recourse-server/contract/tool-call';
import type { RenderedResult } from 'recourse-server/contract/tool-result';
import type { BatchAnswer, BatchListener, BatchRequest, IdempotencyKey } from 'recourse-server/executor/batch-request';
import { NO_RESULT } from 'recourse-server/executor/call';
import type { Client } from 'recourse-server/executor/deadline';
import type { RouteHost } from 'recourse-server/extension';
import { toCallKeyOf } from 'recourse-server/routes/idempotency';
import { requireRoomForReplay } from 'recourse-server/routes/request-memory';
import * as z from 'zod';
import type { CallAbout } from './call-result.ts';
import { type Exchange, type RpcError, SERVER_ERROR } from './rpc-exchange.ts';

const { session_id, round_id } = ToolCallsRequest.shape;

/**
 * The `params` of `tools/call` as far as they are the route's: what `POST /tool-calls` takes in its envelope and headers
 * stands in `_meta`, under keys of our own. The arguments are the executor's to judge.
 */
const CallParams = z.looseObject({
  name: z.string(),
  arguments: z.unknown().optional(),
  _meta: z
    .looseObject({
      progressToken: z.union([z.string(), z.number()]).optional(),
      'recourse/session_id': session_id,
      'recourse/round_id': round_id,
      'recourse/idempotency_key': z
        .string()
        .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
        .nullish(),
      'recourse/call_id': z.string().min(1).nullish(),
    })
    .refine(
      ({ 'recourse/call_id': id, 'recourse/idempotency_key': key }) =>
        typeof id !== 'string' || typeof key !== 'string',
      'has recourse/call_id and recourse/idempotency_key: send one of them',
    )
    .optional(),
});
export type CallParams = z.infer<typeof CallParams>;

/** Reads the `params` of a call that the protocol allows; null where our own keys of `_meta` are wrong. */
export const readCallParams = (params: Readonly<Record<string, unknown>>): CallParams | null => {
  const { name, arguments: args, _meta: meta } = params;
  if (typeof name === 'string' && !hasOwnKeys(meta)) return { name, arguments: args };
  return CallParams.safeParse(params).data ?? null;
};

/** What `params` that cannot be read are answered. */
export const explainCallParams = (params: unknown): RpcError => {
  const { error } = CallParams.safeParse(params);
  const problems = error === undefined ? '' : `: ${z.prettifyError(error)}`;
  return { code: INVALID_PARAMS, message: `Invalid params for tools/call${problems}` };
};

const hasOwnKeys = (meta: unknown): boolean => {
  for (const key in Object(meta)) if (key.startsWith('recourse/')) return true;
  return false;
};

const INVALID_PARAMS = -32_602;

/** How a client may name a call that it has sent: by its session and the id of its JSON-RPC request. */
type CallName = { readonly sessionKey: string; readonly requestId: string | number };

type RunningCalls = ReturnType<typeof createRunningCalls>;

/**
 * The calls that `notifications/cancelled` of another request may end: those of a session that run in this process. Holds
 * nothing of a call that has ended.
 */
export const createRunningCalls = () => {
  const running = new Map<string, () => void>();
  return {
    /** Takes a call in; gives the way to take it out again. */
    add: (name: CallName, end: () => void): (() => void) => {
      const key = readKey(name);
      // Ids are unique in a session; where a client does not keep to that, it can cancel the last one.
      running.set(key, end);
      return () => {
        if (running.get(key) === end) running.delete(key);
      };
    },
    /** Ends the call of that name; nothing where none runs here. */
    cancel: (name: CallName): void => running.get(readKey(name))?.(),
    size: (): number => running.size,
  };
};

// In JSON the text "1" differs from the number 1.
const readKey = ({ sessionKey, requestId }: CallName): string => JSON.stringify([sessionKey, requestId]);

export type CallOptions = Pick<
  RouteHost,
  'executeBatch' | 'toSessionKey' | 'toRecordKey' | 'toRequestKey' | 'createId' | 'maxDeadlineMs' | 'findTool'
> & {
  readonly running: RunningCalls;
  /** The session of a call that names none: none, or one for all such calls of a key. */
  readonly defaultSession: 'none' | 'key';
};

/** One `tools/call` as a batch of one call. `onProgress` is null where the client did not ask for progress. */
export const createCallBatch = (
  params: CallParams,
  client: Client,
  onProgress: BatchListener['progress'] | null,
  exchange: Exchange,
  options: CallOptions,
): BatchRequest => {
  const { requestId, tenant, key, keyHash, caller, callerId, mayUse, body, memory } = exchange;
  const { name, arguments: args, _meta: meta } = params;
  const sessionId = meta?.['recourse/session_id'] ?? exchange.sessionId ?? decideDefaultSession(key, options);
  const callId = meta?.['recourse/call_id'] ?? null;
  const sessionKey = sessionId === null ? null : options.toSessionKey(tenant, sessionId);
  const { trace, traceId } = exchange.toTrace(sessionKey);
  return {
    requestId,
    batchId: options.createId(),
    tenant,
    key,
    keyHash,
    caller,
    callerId,
    mayUse,
    sessionKey,
    roundId: meta?.['recourse/round_id'] ?? null,
    // Without a session the next request has a budget of its own.
    retries: sessionKey === null ? 'untold' : 'told',
    // Not with the id of the request: that is another one when it is sent again under its key.
    calls: [{ id: callId, name, arguments: args }],
    body,
    form: 'message',
    reading: null,
    memory,
    order: 'parallel',
    onError: 'continue',
    deadlineMs: options.maxDeadlineMs,
    idempotency: readIdempotency(meta?.['recourse/idempotency_key'] ?? null, exchange, options),
    callKeyOf: callId === null ? null : toCallKeyOf(tenant, sessionId, options.toRecordKey),
    client,
    listener: onProgress ? { progress: onProgress } : null,
    trace,
    traceId,
  };
};

// As docs/mcp-server.md names it, for GET /sessions/{id}.
const decideDefaultSession = (key: string | null, { defaultSession }: CallOptions): string | null => {
  if (defaultSession === 'none') return null;
  return key === null ? 'mcp' : `mcp:${key}`;
};

const readIdempotency = (
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
  // Without a session it is not known whose request a cancelled id is: clients count them from 0.
  idSession === null ? () => undefined : running.add({ sessionKey: toSessionKey(tenant, idSession), requestId }, end);

/** What has to be known of a call beside its result. Clients hold its answer against the output schema of its tool. */
export const describeCall = (
  { name, _meta: meta }: CallParams,
  { requestId, links }: Exchange,
  { findTool }: CallOptions,
): CallAbout => ({
  requestId,
  links,
  promises: findTool(name)?.outputSchema?.['type'] === 'object' ? 'object' : 'nothing',
  isKeyed: (meta?.['recourse/idempotency_key'] ?? null) !== null,
});

/** What came of a call: its result, or why its Idempotency-Key was not taken. */
type CallAnswer =
  | { readonly kind: 'result'; readonly result: RenderedResult; readonly origin: 'run' | 'replayed' }
  | { readonly kind: 'error'; readonly error: RpcError };

/** As POST /tool-calls answers 422 and 409: about the key, and not what came of a call. */
export const readCallAnswer = (answer: BatchAnswer, { hold }: Exchange): CallAnswer => {
  if (answer.kind === 'results') {
    const { results, origin } = answer;
    if (origin === 'replayed') requireRoomForReplay({ hold }, results, 'messages');
    return { kind: 'result', result: results[0] ?? NO_RESULT, origin };
  }
  if (answer.kind === 'other_body') return { kind: 'error', error: KEY_REUSED };
  const data = { code: 'idempotency_key_in_flight', retry_after_ms: answer.retryAfterMs };
  return { kind: 'error', error: { code: SERVER_ERROR, message: IN_FLIGHT, data } };
};

const IN_FLIGHT =
  'A call with this idempotency key is still running. This request ran nothing; retry after retry_after_ms.';

const KEY_REUSED: RpcError = {
  code: INVALID_PARAMS,
  message: 'This idempotency key was already used for a different call. Nothing has run; use a new key for a new call.',
  data: { code: 'idempotency_key_reused' },
};
