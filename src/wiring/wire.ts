import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { KeyFile } from '../auth/api-keys.ts';
import { type FirstConfigFile, readFirstConfigFile } from '../config/file/read-config-file.ts';
import { readFirstKeyFile } from '../config/read-configuration.ts';
import type { Config } from '../config/settings/config.ts';
import { createWorkspaceGuard } from '../config/workspace-guard.ts';
import { SILENT_OBSERVER, type ToolInvoked } from '../executor/call-observer.ts';
import { type CircuitBreakers, createCircuitBreakers } from '../executor/circuit-breakers.ts';
import type { RunHosted } from '../executor/deadline.ts';
import type { ExecutorSettings } from '../executor/executor-services.ts';
import type { Redactor } from '../executor/redactor.ts';
import { createExecutor, type Executor } from '../executor/run-batch.ts';
import { StoreUnavailableError } from '../executor/session-store.ts';
import { readResult } from '../executor/stored-result.ts';
import type { ExtensionHost } from '../extensions/extension.ts';
import type { UpstreamState } from '../extensions/source.ts';
import { readManifest } from '../files/own-package.ts';
import { openApiKeys } from '../http/access.ts';
import { type Readiness, wireHttp } from '../http/wire-http.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import { PACKAGES } from '../packages.ts';
import { redactCatalogue } from '../redaction/service-redactor.ts';
import type { AnsweredCalls } from '../routes/answered-calls.ts';
import { toMostReadings } from '../routes/request-memory.ts';
import { createRunReducer } from '../session-view/create-run-reducer.ts';
import { createSessionReader } from '../session-view/session-reader.ts';
import { createCallObserver, createCircuitObserver, createResponseObserver } from '../telemetry/call-metrics.ts';
import { createCallLog, createFailureLog, type LogBatch, type LogFailure } from '../telemetry/log-lines.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { createBuiltinReducers } from '../tools/builtin-reducers.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { createIdFactory } from './create-id.ts';
import type { ToolsReadiness } from './tool-readiness.ts';
import { wireExtensions } from './wire-extensions.ts';
import { wireLoad } from './wire-load.ts';
import { type WiredRedaction, wireRedaction } from './wire-redaction.ts';
import { type Stores, toSessionSettings, type WiredStore, wireMemory, wireStore } from './wire-store.ts';
import { wireTools } from './wire-tools.ts';
import { wireTracing } from './wire-tracing.ts';

type Background = Awaited<ReturnType<Awaited<ReturnType<typeof PACKAGES.background>>['openBackground']>>;

export type Service = {
  readonly app: FastifyInstance;
  /** Health and metrics, where they have a port of their own. */
  readonly opsApp: FastifyInstance | null;
  readonly executor: Executor;
  /** Tells the endpoints of the configuration file of events. */
  readonly webhooks: Background['webhooks'];
  /** The tools that can be called now, by name. */
  readonly listTools: () => readonly Tool[];
  /** Readiness says no, new batches are refused, no further call starts. */
  readonly drain: () => void;
  /** Ends the processes of tools without waiting for it: for a process that exits. */
  readonly killHosts: () => void;
  /** Gives back what `wire` opened, after the app is closed. */
  readonly close: () => Promise<void>;
};

export type WireOptions = {
  /** Offered beside the built-in ones. */
  readonly extraTools?: readonly Tool[];
  /** API_KEYS_FILE, where it was read already. */
  readonly keyFile?: KeyFile | null;
  /** CONFIG_FILE, where it was read already; null where there is none. */
  readonly configFile?: FirstConfigFile | null;
  /** Takes secrets out of what leaves the service; made of the environment if left out. */
  readonly redaction?: WiredRedaction;
  /** Of which tool hosts get what the settings name. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Writes the lines of batches into the log; left out: the log itself. */
  readonly logBatch?: LogBatch;
  /** Writes the line of a failed call into the log; left out: all its fields. */
  readonly logFailure?: LogFailure;
  /** Hear of every call; one that throws changes nothing. */
  readonly subscribers?: readonly ((event: ToolInvoked) => void)[];
  /** `off`: nothing is counted or logged of calls and requests. For measuring what that costs. */
  readonly telemetry?: 'on' | 'off';
  /** How long one collection of metrics answers all who ask, in milliseconds; left out: a second. */
  readonly metricsSharedMs?: number;
  /** How often an idle stream gets a sign of life, in milliseconds; left out: every 15 s. */
  readonly streamHeartbeatMs?: number;
  /** How the file tools keep to their directories; left out: what this system offers. */
  readonly fileAccess?: ExtensionHost['fileAccess'];
  /** Puts something between the service and what it keeps. */
  readonly wrapStores?: (stores: Stores) => Stores;
};

const now = (): number => performance.now();

/** Puts the parts together; the only place that knows them all. Rejects where they cannot be, in words for people. */
export const wire = async (config: Config, log: Logger, options: WireOptions = {}): Promise<Service> => {
  const { extraTools = [], environment = {}, keyFile = readFirstKeyFile(config) } = options;
  const { configFile = await readConfigFileOrThrow(config, environment) } = options;
  const { version } = readManifest();
  const createId = createIdFactory();
  const { metrics, observer, onResponse } = createTelemetry(config, { ...options, version, log });
  const redaction = options.redaction ?? wireRedaction(config, environment);
  const { redactor } = redaction;
  redaction.countIn(metrics.secretsRedacted);
  const { stores: memory, requests: budget } = wireMemory(config, log, metrics);
  const store = await wireStore(config, { log, metrics, memory, redactor, now });
  const { sessions, keys } = options.wrapStores?.(store) ?? store;
  const ofExtensions = { version, log, redaction, metrics, pageTokens: store.pageTokens };
  const extensions = await wireExtensions(config, { ...options, ...ofExtensions });
  const load = wireLoad(config, { metrics, observer, budget, now });
  const own = [...extensions.tools, ...createBuiltinReducers(), ...extraTools];
  const guard = await createWorkspaceGuard(config, environment);
  const { openBackground } = await PACKAGES.background();
  const kept = { backend: store.backend, configFile, log, metrics, redactor, createId, now };
  const { webhooks, openCalls } = await openBackground(config, kept);
  const shared = { log, metrics, observer, now, environment, version, redaction, guard, configFile };
  const offered = { onContent: webhooks.apply, own, ownUnavailable: extensions.unavailable, ...load.toolLimits };
  const { registry, runHosted, ...tools } = await wireTools(config, { ...options, ...shared, ...offered });
  const apiKeys = openApiKeys(config, { log, metrics, guard, keyFile });
  const pending = await openCalls({
    ...{ budget, sessions, keys, apiKeys },
    hasTool: (name) => registry.find(name) !== undefined,
    lanes: configFile?.content.lanes,
  });
  const executor = createCallExecutor(config, {
    ...{ ...shared, ...load, sessions, keys, registry, runHosted, redactor, createId, memory, time: store.time },
    requests: store.requests,
    pending: pending.service,
    logFailure: options.logFailure,
  });
  pending.start(executor.executeBatch);
  const tracing = await wireTracing(config, { version, log, environment, now, redactor });
  const { closeAccess, ...http } = await wireHttp(config, {
    ...shared,
    ...load,
    ...toReading(config, { ...store, sessions, keys, pending }, registry, runHosted, redactor),
    hasWebhook: webhooks.has,
    pendingTasks: pending.tasks,
    pendingLists: pending.lists,
    ...extensions.http,
    ...{ createId, executor, onResponse, apiKeys, dialects: PACKAGES.dialects },
    metricsSharedMs: options.metricsSharedMs,
    streamHeartbeatMs: options.streamHeartbeatMs,
    rates: store.rates,
    memory,
    mostReadings: toMostReadings(budget.limitBytes),
    beginTrace: tracing.beginTrace,
    ...writeCatalogue(registry, redactor),
    readiness: () => toReadiness(store, registry, { upstreams: tools.upstreams(), tools: tools.readiness() }, redactor),
  });
  const stopping = { drain: [pending, http], first: [load.stop, closeAccess], last: [tools, extensions, tracing] };
  return {
    ...http,
    executor,
    webhooks,
    listTools: registry.list,
    killHosts: tools.killHosts,
    ...toStop(stopping, { pending, webhooks, store }),
  };
};

type ExecutorParts = CircuitParts &
  Pick<ExecutorSettings, 'registry' | 'sessions' | 'keys' | 'requests' | 'pending' | 'runHosted' | 'observer'> &
  Pick<ExecutorSettings, 'redactor' | 'slots' | 'time'> & {
    readonly createId: () => string;
    readonly logFailure: LogFailure | undefined;
  };

/** What runs calls, as the settings say. */
const createCallExecutor = (config: Config, parts: ExecutorParts): Executor => {
  const { log, redactor, createId, logFailure, time } = parts;
  const { registry, sessions, keys, requests, pending, runHosted, observer, slots } = parts;
  return createExecutor({
    ...{ registry, sessions, keys, requests, pending, runHosted, observer, slots, redactor },
    failureLog: createFailureLog({ log, now, createReference: createId, logFailure }),
    createLog: createCallLog(log, redactor),
    circuits: createCircuits(config, parts),
    now,
    time,
    ...toCallLimits(config),
  });
};

type StoppingParts = {
  readonly drain: readonly { readonly drain: () => void }[];
  readonly first: readonly (() => void)[];
  readonly last: readonly { readonly close: () => Promise<unknown> }[];
};

/** What other parts keep things in, in the order in which it closes. */
type Kept = Readonly<Record<'pending' | 'webhooks' | 'store', { readonly close: () => Promise<void> }>>;

/** How the service ends: its work first, then the store, then where tools are. */
const toStop = (
  { drain, first, last }: StoppingParts,
  { pending, webhooks, store }: Kept,
): Pick<Service, 'drain' | 'close'> => ({
  drain: () => {
    for (const part of drain) part.drain();
  },
  close: async () => {
    for (const stop of first) stop();
    await pending.close();
    // Before the store, which keeps what is not delivered.
    await webhooks.close();
    await store.close();
    await Promise.all(last.map((part) => part.close()));
  },
});

const readConfigFileOrThrow = async (
  config: Config,
  environment: NonNullable<WireOptions['environment']>,
): Promise<FirstConfigFile | null> => {
  const { file, mistakes } = await readFirstConfigFile(config, environment);
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
  return file;
};

type TelemetryParts = Pick<WireOptions, 'logBatch' | 'subscribers' | 'telemetry'> & {
  readonly version: string;
  readonly log: Logger;
};

/** Metrics, and what counts into them. */
const createTelemetry = ({ METRICS_MAX_TOOLS: maxTools }: Config, parts: TelemetryParts) => {
  const metrics = createMetrics(parts.version, now);
  if (parts.telemetry === 'off') return { metrics, observer: SILENT_OBSERVER, onResponse: () => undefined };
  const observer = createCallObserver({ ...parts, metrics, maxTools, now });
  return { metrics, observer, onResponse: createResponseObserver(metrics) };
};

type ReadStores = Pick<WiredStore, 'sessions' | 'keys' | 'endedSessions'> & {
  readonly pending: Pick<Awaited<ReturnType<Background['openCalls']>>, 'service' | 'answered'>;
};

/** What the routes need to show sessions and results of earlier requests, to reset and end sessions, and to find tools. */
const toReading = (
  config: Config,
  { sessions, keys, endedSessions, pending }: ReadStores,
  registry: ToolRegistry,
  runHosted: RunHosted,
  redactor: Redactor,
) => ({
  ...toPendingReading(pending.answered, keys, redactor),
  readSession: createSessionReader({
    sessions,
    // A session is shown also while nobody can tell which of its calls are pending.
    pendingOf: (sessionKey: string) => pending.service.ofSession(sessionKey).catch(() => []),
    findTool: registry.find,
    reducers: registry.reducers,
    runReducer: createRunReducer({ runHosted, maxResultBytes: config.MAX_RESULT_BYTES, redactor, now }),
    settings: toSessionSettings(config),
  }),
  findTool: registry.find,
  endSession: sessions.end,
  endedSessions,
  resetBudgets: sessions.reset,
  isUnavailable: (error: unknown): boolean => error instanceof StoreUnavailableError,
});

/** What the routes need to find results, to tell where pending calls stand, and to end them. */
const toPendingReading = (answered: AnsweredCalls, keys: ReadStores['keys'], redactor: Redactor) => ({
  // Redacted when they were kept; this service may know of other secrets.
  findResults: async (tenant: string, requestKey: string) => {
    const found = await keys.find(requestKey);
    if (found === null || found === 'unavailable') return found;
    const results = await answered.complete(tenant, found).catch(() => 'unavailable' as const);
    if (results === null || results === 'unavailable') return results;
    return {
      results: results.map((result) => readResult(redactor.result(result, 'result'))),
      isPromised: found.isPromised,
    };
  },
  readAnswered: answered.read,
  cancelAnswered: answered.cancel,
  followAnswered: answered.follow,
  watchParts: answered.watchParts,
});

/** What the routes need to find tools, as people and as providers know them. */
const writeCatalogue = (registry: ToolRegistry, redactor: WiredRedaction['redactor']) => ({
  describeTools: redactCatalogue(registry.describe, redactor),
  watchTools: registry.watch,
  readProviderCalls: PACKAGES.dialects.createReadProviderCalls(registry),
});

type CircuitParts = {
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly registry: ToolRegistry;
  readonly memory: StoreMemory;
};

const createCircuits = (config: Config, { metrics, log, registry, memory }: CircuitParts): CircuitBreakers => {
  const toolsOf = (upstream: string): readonly string[] =>
    registry.list().flatMap((tool) => (tool.upstream?.name === upstream ? [tool.name] : []));
  const observer = createCircuitObserver({ metrics, log, toolsOf });
  return createCircuitBreakers({
    failures: config.CIRCUIT_FAILURES,
    openMs: config.CIRCUIT_OPEN_MS,
    observer,
    memory,
    now,
  });
};

const toCallLimits = (config: Config) =>
  ({
    gracefulErrors: config.GRACEFUL_TOOL_ERRORS ? 'on' : 'off',
    maxResultBytes: config.MAX_RESULT_BYTES,
    maxBatchCalls: config.MAX_BATCH_CALLS,
    maxAnswerBytes: config.MAX_ANSWER_BYTES,
    batchConcurrency: config.BATCH_CONCURRENCY,
    sessionRetries: config.SESSION_RETRIES,
    journal: config.SESSION_JOURNAL,
  }) as const;

const MAX_REASON = 500;

type ReadyTools = { readonly upstreams: readonly UpstreamState[]; readonly tools: ToolsReadiness };

const toReadiness = (
  { kind, isUp }: WiredStore,
  { list }: ToolRegistry,
  { upstreams, tools }: ReadyTools,
  redactor: Redactor,
): Readiness => {
  const isWhole = isUp() && tools.missing.length === 0 && tools.problems.length === 0;
  return {
    status: tools.isComplete ? (isWhole ? 'ready' : 'degraded') : 'tools_missing',
    store: { kind, status: isUp() ? 'up' : 'down' },
    tools: list().length,
    missing: tools.missing,
    files: tools.problems.map(({ file, line, message }) => ({
      file,
      line,
      message: redactor.cut(message, MAX_REASON, 'log'),
    })),
    upstreams: upstreams.map(({ name, status, reason, tools: offered }) => ({
      name,
      status,
      reason: reason === null ? null : redactor.cut(reason, MAX_REASON, 'log'),
      tools: offered,
    })),
  };
};
