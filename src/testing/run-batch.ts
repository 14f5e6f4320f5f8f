import { hash } from 'node:crypto';
import { ToolCallsRequest } from '../contract/tool-call.ts';
import type { BatchAnswer, BatchRequest, Client, IdempotencyKey } from '../executor/batch-request.ts';
import type { Executor } from '../executor/run-batch.ts';
import type { ToolProgress } from '../tools/tool.ts';
import { RefusedBatchError } from './refused-batch-error.ts';
import { SERVICE_DEFAULTS } from './service-defaults.ts';
import type { TestLog } from './test-log.ts';
import { type TestResult, toTestResult } from './test-result.ts';

/** One entry of `calls`, as in the body of `POST /tool-calls`. */
export type TestCall = {
  readonly name: string;
  /** An object, or a text that holds one. Left out: `{}`. */
  readonly arguments?: object | string | null | undefined;
  readonly id?: string | number | null | undefined;
  /** Milliseconds; may only shorten the tool's own limit. */
  readonly timeout_ms?: number | undefined;
};

/** What goes with a batch, as the members and headers of `POST /tool-calls` of the same meaning. Times in milliseconds. */
export type BatchOptions = {
  /** The `session_id`. Left out: the batch has no session. */
  readonly session?: string | undefined;
  readonly roundId?: string | undefined;
  /** The Idempotency-Key. A repeat with the same key and the same calls replays the results. */
  readonly key?: string | undefined;
  readonly order?: 'parallel' | 'sequential' | undefined;
  readonly onError?: 'continue' | 'stop' | undefined;
  /** Of the whole batch; at most five minutes count. */
  readonly deadlineMs?: number | undefined;
  /** Aborted: the caller has gone away, and nobody waits for the answer. */
  readonly signal?: AbortSignal | undefined;
  /** Whose sessions and keys these are. Left out: those of a service without API keys. */
  readonly tenant?: string | undefined;
  /** Whether the caller's API key may use a tool. Left out: every tool. */
  readonly mayUse?: ((tool: string) => boolean) | undefined;
};

export type RunBatch = (calls: readonly TestCall[], options?: BatchOptions) => Promise<readonly TestResult[]>;

const ANONYMOUS = 'anonymous';

/** The opaque key that a tenant's session is kept under, and that handlers see. */
export const toSessionKey = (tenant: string = ANONYMOUS, sessionId: string): string => toTenantKey(tenant, sessionId);

const toTenantKey = (tenant: string, chosen: string): string => `${tenant}:${hash('sha256', chosen)}`;

/** Sends batches to the executor as the route of the service does: what it refuses before is refused here. */
export const createRunBatch = ({ executeBatch }: Pick<Executor, 'executeBatch'>, log: TestLog): RunBatch => {
  let batches = 0;
  return async (calls, options = {}) => {
    batches += 1;
    const progress = new Map<number, ToolProgress[]>();
    const onProgress = (index: number, update: ToolProgress): void => {
      progress.set(index, [...(progress.get(index) ?? []), withoutAbsent(update)]);
    };
    const request = { ...toRequest(calls, options, `test-${batches}`), onProgress };
    const results = toResults(await executeBatch(request));
    const { thrownUnder } = log;
    return results.map((json, index) => toTestResult(json, { progress: progress.get(index) ?? [], thrownUnder }));
  };
};

/** The members that were reported: strict equality tells absent ones from undefined ones. */
const withoutAbsent = ({ progress, total, message }: ToolProgress): ToolProgress => ({
  progress,
  ...(total === undefined ? {} : { total }),
  ...(message === undefined ? {} : { message }),
});

const toRequest = (
  calls: readonly TestCall[],
  options: BatchOptions,
  requestId: string,
): Omit<BatchRequest, 'onProgress'> => {
  const { tenant = ANONYMOUS, mayUse = () => true, signal } = options;
  const source = JSON.stringify({
    session_id: options.session,
    round_id: options.roundId,
    order: options.order,
    on_error: options.onError,
    deadline_ms: options.deadlineMs,
    calls,
  });
  const envelope = toEnvelope(source);
  const { maxDeadlineMs } = SERVICE_DEFAULTS;
  return {
    requestId,
    batchId: requestId,
    tenant,
    key: null,
    caller: tenant,
    mayUse,
    sessionKey: typeof envelope.session_id === 'string' ? toSessionKey(tenant, envelope.session_id) : null,
    roundId: envelope.round_id ?? null,
    calls: envelope.calls,
    reading: null,
    source,
    form: 'calls',
    order: envelope.order,
    onError: envelope.on_error,
    deadlineMs: Math.min(envelope.deadline_ms ?? maxDeadlineMs, maxDeadlineMs),
    idempotency: options.key === undefined ? null : toIdempotency(options.key, tenant, requestId),
    client: toClient(signal),
    memory: null,
    traceId: null,
    trace: null,
  };
};

const toEnvelope = (source: string): ToolCallsRequest => {
  const read = ToolCallsRequest.safeParse(JSON.parse(source));
  if (read.success) return read.data;
  const problems = read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new RefusedBatchError(400, 'invalid_envelope', `The service refuses this batch: ${problems.join('; ')}.`);
};

const toIdempotency = (key: string, tenant: string, requestId: string): IdempotencyKey => {
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw new RefusedBatchError(
      400,
      'invalid_idempotency_key',
      'Idempotency-Key must be 1 to 255 printable ASCII characters.',
    );
  return { key, recordKey: toTenantKey(tenant, key), requestKey: toTenantKey(tenant, requestId) };
};

const NOBODY: Client = { isGone: () => false, whenGone: () => () => undefined };

const toClient = (signal: AbortSignal | undefined): Client => {
  if (signal === undefined) return NOBODY;
  return {
    isGone: () => signal.aborted,
    whenGone: (listener) => {
      if (signal.aborted) listener();
      signal.addEventListener('abort', listener);
      return () => signal.removeEventListener('abort', listener);
    },
  };
};

const toResults = (answer: BatchAnswer): readonly string[] => {
  if (answer.kind === 'results') return answer.results;
  if (answer.kind === 'other_body')
    throw new RefusedBatchError(
      422,
      'idempotency_key_reused',
      'This key came with another body before. Nothing has run; use a new key for a new batch.',
    );
  throw new RefusedBatchError(
    409,
    'idempotency_key_in_flight',
    'A batch with this key is still running. Nothing has run now; await the first one before you repeat it.',
  );
};
