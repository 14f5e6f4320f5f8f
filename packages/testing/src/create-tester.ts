import { hash } from 'node:crypto';
import { performance as eventLoop } from 'node:perf_hooks';
import { isRecord } from 'recourse-server/contract/json-record';
import { ToolCallsRequest } from 'recourse-server/contract/tool-call';
import { type RenderedResult, ToolChecked, ToolResult } from 'recourse-server/contract/tool-result';
import type { BatchAnswer, BatchRequest, IdempotencyKey } from 'recourse-server/executor/batch-request';
import type { CreateCallLog } from 'recourse-server/executor/call-context';
import { type FailureLog, SILENT_OBSERVER } from 'recourse-server/executor/call-observer';
import { createCircuitBreakers } from 'recourse-server/executor/circuit-breakers';
import type { Client, RunHosted } from 'recourse-server/executor/deadline';
import { createUnpackRound } from 'recourse-server/executor/journal';
import { NO_PENDING_CALLS } from 'recourse-server/executor/pending-calls';
import { NO_POLICIES } from 'recourse-server/executor/policies';
import { createExecutor, type Executor } from 'recourse-server/executor/run-batch';
import { createStoreMemory } from 'recourse-server/memory/store-memory';
import { createRefusalPace } from 'recourse-server/queue/refusal-pace';
import { SlotQueue } from 'recourse-server/queue/slot-queue';
import { createRedactor } from 'recourse-server/redaction/service-redactor';
import { createRunReducer } from 'recourse-server/session-view/create-run-reducer';
import { createSessionReader, type ReadSession } from 'recourse-server/session-view/session-reader';
import { createIdempotencyStore } from 'recourse-server/sessions/idempotency/idempotency-store';
import { createRecordSessionStore } from 'recourse-server/sessions/record-session-store';
import { createRequestSessionStore } from 'recourse-server/sessions/request-session-store';
import { createMemoryRecordStore } from 'recourse-server/store/memory-record-store';
import { isDefinedTool } from 'recourse-server/tools/define-tool';
import { createToolRegistry } from 'recourse-server/tools/registry';
import type { InlineTool, Tool, ToolFile, ToolProgress } from 'recourse-server/tools/tool';
import { createLossyRun } from './lossy-run.ts';
import { createTestClock, type ExecutorClock } from './test-clock.ts';
import { createTestReconciler, type TestReconciler } from './test-reconciler.ts';
import {
  type BatchOptions,
  type CallOptions,
  type Loss,
  RefusedBatchError,
  type TestArguments,
  type TestCall,
  type Tester,
  type TesterOptions,
  type TestLogLine,
  type TestResult,
} from './tester.ts';

/**
 * Makes a tester of what `defineTool` and `defineReducer` made. Throws a TypeError for anything else, and an Error where two
 * have one name. Each tester has sessions, circuits and keys of its own, so make one for each test.
 */
export const createTester = (tools: InlineTool | readonly InlineTool[], { now }: TesterOptions = {}): Tester => {
  const clock = createTestClock(now ?? null);
  const log = createTestLog();
  const executor = createTestExecutor(toList(tools), clock, log);
  const batch = createRunBatch(executor, log);
  const call = async (
    name: string,
    args: TestArguments = {},
    { id, timeoutMs, ...options }: CallOptions = {},
  ): Promise<TestResult> => {
    const [result] = await batch([{ id, name, arguments: args, timeout_ms: timeoutMs }], options);
    if (result === undefined) throw new Error('A batch of one call has no result.');
    return result;
  };
  return {
    call,
    batch,
    dryRun: createDryRun(executor),
    reconcile: async (name, args, sought) => executor.ask(name, toInput(args), sought),
    session: (id, { tenant = ANONYMOUS } = {}) => ({
      call: (name, args, options) => call(name, args, { tenant, ...options, session: id }),
      round: (calls, options) => batch(calls, { tenant, ...options, session: id }),
      view: () => executor.readSession(toTenantKey(tenant, id), () => true),
    }),
    clock: { now: clock.now, advance: clock.advance },
    logs: log.lines,
    close: executor.close,
  };
};

const toList = (tools: InlineTool | readonly InlineTool[]): readonly InlineTool[] => {
  const list: readonly unknown[] = Array.isArray(tools) ? tools : [tools];
  const defined = list.filter(isDefinedTool);
  const wrong = list.findIndex((tool) => !isDefinedTool(tool));
  if (wrong === -1) return defined;
  const what = list[wrong] === null ? 'null' : `a value of type ${typeof list[wrong]}`;
  throw new TypeError(
    `createTester takes the result of defineTool or defineReducer, or a list of them. Item ${wrong} is ${what}: pass the result of defineTool.`,
  );
};

/** Keeps what handlers log, and what they threw. */
const createTestLog = () => {
  const lines: TestLogLine[] = [];
  const thrown = new Map<string, unknown>();
  let references = 0;
  const createLog: CreateCallLog = ({ tool, callId }) => {
    const write =
      (level: TestLogLine['level']) =>
      (message: string, fields: Readonly<Record<string, unknown>> = {}): void =>
        void lines.push({ level, message, fields, tool, callId });
    return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  };
  const writeFailure: FailureLog['write'] = (_call, failure) => {
    references += 1;
    const reference = `failure-${references}`;
    if (failure.thrown !== undefined) thrown.set(reference, failure.thrown);
    return reference;
  };
  return { lines, thrown, createLog, writeFailure };
};
type TestLog = ReturnType<typeof createTestLog>;

/**
 * What a service has with no setting changed, as far as a call of a tool can tell: times in milliseconds, sizes in bytes. A
 * test compares it with the settings.
 */
export const SERVICE_DEFAULTS = {
  gracefulErrors: 'on',
  maxResultBytes: 1_048_576,
  maxAnswerBytes: 4_194_304,
  maxBatchCalls: 64,
  maxDeadlineMs: 300_000,
  batchConcurrency: 64,
  sessionRetries: 20,
  cooldownMs: 900_000,
  sessionTtlMs: 86_400_000,
  sessionMaxCalls: 0,
  sessionMaxRounds: 0,
  journal: 200,
  toolConcurrency: 512,
  callerConcurrency: 768,
  maxConcurrentCalls: 1024,
  maxQueuedCalls: 2048,
  circuitFailures: 10,
  circuitOpenMs: 10_000,
  reconcileDelaysMs: [1000, 5000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000],
} as const;

const SESSION_SETTINGS = {
  sessionRetries: SERVICE_DEFAULTS.sessionRetries,
  cooldownMs: SERVICE_DEFAULTS.cooldownMs,
  ttlMs: SERVICE_DEFAULTS.sessionTtlMs,
  maxCalls: SERVICE_DEFAULTS.sessionMaxCalls,
  maxRounds: SERVICE_DEFAULTS.sessionMaxRounds,
  journal: SERVICE_DEFAULTS.journal,
};

// A test keeps a few sessions; the stores must not take more of the heap than a service of 200 MB gives them.
const STORE_BYTES = 64_000_000;

type ExecutorSettings = Parameters<typeof createExecutor>[0];

type TestExecutor = {
  /** Where `lose` says so, the process of each run dies. */
  readonly executeBatch: (request: BatchRequest, lose: Loss | undefined) => ReturnType<Executor['executeBatch']>;
  readonly dryRun: Executor['dryRun'];
  readonly readSession: ReadSession;
  readonly ask: TestReconciler['ask'];
  readonly close: () => Promise<void>;
};

/** Puts together what runs calls in a service: all of it but HTTP, access, tool hosts, Redis, metrics and the file log. */
const createTestExecutor = (tools: readonly InlineTool[], clock: ExecutorClock, log: TestLog): TestExecutor => {
  const now = clock.moment;
  const startedAt = clock.now() - now();
  const time = (): number => Math.floor(startedAt + now());
  const memory = createStoreMemory({ totalBytes: STORE_BYTES });
  const redactor = createRedactor({ secrets: [] });
  // Run to their end, as for a caller that waits.
  const registry = createToolRegistry(tools.map((tool) => ({ ...tool, background: 'never' })));
  const records = createMemoryRecordStore({ memory, now: time });
  const sessions = createRecordSessionStore({
    mode: 'memory',
    settings: SESSION_SETTINGS,
    unpackRound: createUnpackRound(redactor),
    store: records,
  });
  const keys = createIdempotencyStore({ store: records, durability: 'process', memory });
  const { createLog } = log;
  const reconciler = createTestReconciler({
    ...{ clock, registry, records, keys, sessions, redactor, createLog, runHosted: NO_HOSTS },
    ...{ delays: SERVICE_DEFAULTS.reconcileDelaysMs, maxResultBytes: SERVICE_DEFAULTS.maxResultBytes },
  });
  const settings: ExecutorSettings = {
    ...SERVICE_DEFAULTS,
    registry,
    sessions,
    reconciler,
    policies: NO_POLICIES,
    audit: null,
    keys,
    requests: createRequestSessionStore({ settings: SESSION_SETTINGS }),
    pending: NO_PENDING_CALLS,
    slots: new SlotQueue({
      ...SERVICE_DEFAULTS,
      maxHostedCalls: SERVICE_DEFAULTS.maxConcurrentCalls,
      pace: createRefusalPace({ now, later: setTimeout }),
      now,
      // The event loop is that of Node also where a test has put another `performance` in its place.
      busyMs: () => eventLoop.eventLoopUtilization().active,
      afterSlice: setImmediate,
    }),
    circuits: createCircuitBreakers({
      failures: SERVICE_DEFAULTS.circuitFailures,
      openMs: SERVICE_DEFAULTS.circuitOpenMs,
      observer: { circuitChanged: () => undefined },
      memory,
      now,
    }),
    runHosted: NO_HOSTS,
    observer: SILENT_OBSERVER,
    failureLog: { write: log.writeFailure },
    createLog,
    redactor,
    now,
    startTimer: clock.startTimer,
    time: clock.now,
  };
  const { maxResultBytes } = SERVICE_DEFAULTS;
  const readSession = createSessionReader({
    sessions,
    findTool: registry.find,
    reducers: registry.reducers,
    pendingOf: async () => [],
    runReducer: createRunReducer({ runHosted: NO_HOSTS, maxResultBytes, redactor, now }),
    settings: SESSION_SETTINGS,
  });
  return { ...createExecutors(settings, reconciler.close), readSession, ask: reconciler.ask };
};

/** An executor whose handlers run, and one for each batch whose runs are lost: they differ in nothing else. */
const createExecutors = (
  settings: ExecutorSettings,
  closeReconciler: () => void,
): Pick<TestExecutor, 'executeBatch' | 'dryRun' | 'close'> => {
  const { registry } = settings;
  const usual = createExecutor(settings);
  const all = [usual];
  let isClosed = false;
  const createLossy = (lose: Loss): Executor => {
    const hosted = registry.list().map((tool): Tool => ({ ...tool, runsIn: 'host', file: NO_FILE }));
    const runHosted = createLossyRun(registry.find, lose);
    const executor = createExecutor({ ...settings, registry: createToolRegistry(hosted), runHosted });
    if (isClosed) executor.drain();
    all.push(executor);
    return executor;
  };
  return {
    executeBatch: (request, lose) => (lose === undefined ? usual : createLossy(lose)).executeBatch(request),
    dryRun: usual.dryRun,
    close: async () => {
      isClosed = true;
      for (const executor of all) {
        executor.drain();
        executor.endAll();
      }
      await Promise.all(all.map((executor) => executor.whenIdle()));
      closeReconciler();
    },
  };
};

const NO_FILE: ToolFile = { path: '', root: '', sources: new Map() };

const NO_HOSTS: RunHosted = () => Promise.reject(new Error('A tester runs every tool in this process.'));

const ANONYMOUS = 'anonymous';

/** The opaque key that a tenant's session, batch or request is kept under. */
const toTenantKey = (tenant: string, chosen: string): string => `${tenant}:${hash('sha256', chosen)}`;

/** Sends batches to the executor as the route of the service does: what it refuses before is refused here. */
const createRunBatch = ({ executeBatch }: TestExecutor, { thrown }: TestLog): Tester['batch'] => {
  let batches = 0;
  return async (calls, options = {}) => {
    batches += 1;
    const progress = new Map<number, ToolProgress[]>();
    const onProgress = (index: number, update: ToolProgress): void => {
      progress.set(index, [...(progress.get(index) ?? []), withoutAbsent(update)]);
    };
    const parts = new Map<number, unknown[]>();
    const onPart = (index: number, valueJson: string): void => {
      parts.set(index, [...(parts.get(index) ?? []), JSON.parse(valueJson)]);
    };
    const listener = { progress: onProgress, part: onPart };
    const request = { ...toRequest(calls, options, `test-${batches}`), listener };
    const results = toResults(await executeBatch(request, options.lose));
    return results.map(({ json }, index) => {
      const result = ToolResult.parse(JSON.parse(json));
      const own = { ...result, progress: progress.get(index) ?? [], parts: parts.get(index) ?? [] };
      if (result.error === null) return { ...own, success: true, error: null };
      return { ...own, success: false, error: result.error, thrown: thrown.get(result.error.reference) };
    });
  };
};

const createDryRun = ({ dryRun }: TestExecutor): Tester['dryRun'] => {
  let runs = 0;
  return async (name, args = {}, { id, timeoutMs, ...options } = {}) => {
    runs += 1;
    const calls = [{ id, name, arguments: args, timeout_ms: timeoutMs }];
    const request = { ...toRequest(calls, options, `dry-run-${runs}`), listener: null };
    const [result] = toResults(await dryRun(request));
    return ToolChecked.parse(JSON.parse(result?.json ?? 'null'));
  };
};

/** The members that were reported: strict equality tells absent ones from undefined ones. */
const withoutAbsent = ({ progress, total, message }: ToolProgress): ToolProgress => ({
  progress,
  ...(total === undefined ? {} : { total }),
  ...(message === undefined ? {} : { message }),
});

const toInput = (args: TestArguments): Readonly<Record<string, unknown>> => {
  const value: unknown = JSON.parse(typeof args === 'string' ? args : JSON.stringify(args));
  if (!isRecord(value)) throw new TypeError('The arguments of a call are an object.');
  return value;
};

const toRequest = (
  calls: readonly TestCall[],
  options: BatchOptions,
  requestId: string,
): Omit<BatchRequest, 'listener'> => {
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
    sessionKey: typeof envelope.session_id === 'string' ? toTenantKey(tenant, envelope.session_id) : null,
    roundId: envelope.round_id ?? null,
    calls: envelope.calls,
    reading: null,
    body: { source },
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

const toClient = (signal: AbortSignal | undefined): Client => ({
  isGone: () => signal?.aborted ?? false,
  whenGone: (listener) => {
    if (signal?.aborted) listener();
    signal?.addEventListener('abort', listener);
    return () => signal?.removeEventListener('abort', listener);
  },
});

const toResults = (answer: BatchAnswer): readonly RenderedResult[] => {
  if (answer.kind === 'results') return answer.results;
  if (answer.kind === 'other_body')
    throw new RefusedBatchError(
      422,
      'idempotency_key_reused',
      'This key was already used with a different body. Nothing has run; use a new key for a new batch.',
    );
  throw new RefusedBatchError(
    409,
    'idempotency_key_in_flight',
    'A batch with this key is still running. This request ran nothing; await the first batch before you repeat it.',
  );
};
