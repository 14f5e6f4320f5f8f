import type { Logger } from 'pino';
import type { KeyFile } from '../auth/api-keys.ts';
import type { Variables } from '../config/file/expand-variables.ts';
import type { ConfigContent } from '../config/file/load-config-file.ts';
import { type FirstConfigFile, readFirstConfigFile } from '../config/file/read-config-file.ts';
import { readFirstKeyFile } from '../config/read-configuration.ts';
import type { Config } from '../config/settings/config.ts';
import { createWorkspaceGuard } from '../config/workspace-guard.ts';
import { type CallWatch, SILENT_OBSERVER, type ToolInvoked } from '../executor/call-observer.ts';
import { createCircuitBreakers } from '../executor/circuit-breakers.ts';
import type { Redactor } from '../executor/redactor.ts';
import { createExecutor, type Executor } from '../executor/run-batch.ts';
import { StoreUnavailableError } from '../executor/session-store.ts';
import { readResult } from '../executor/stored-result.ts';
import type { ExtensionHost } from '../extensions/extension.ts';
import { readManifest } from '../files/own-package.ts';
import { openApiKeys } from '../http/access.ts';
import { type Readiness, wireHttp } from '../http/wire-http.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import { PACKAGES } from '../packages.ts';
import { redactCatalogue } from '../redaction/service-redactor.ts';
import type { AnsweredCalls } from '../routes/answered-calls.ts';
import { toMostReadings } from '../routes/request-memory.ts';
import { maySeeAll } from '../routes/stored-results.ts';
import type { BeginTrace } from '../routes/watch-requests.ts';
import { createRunReducer } from '../session-view/create-run-reducer.ts';
import { createSessionReader } from '../session-view/session-reader.ts';
import { createCallObserver, createCircuitObserver, createResponseObserver } from '../telemetry/call-metrics.ts';
import { createCallLog, createFailureLog, type LogBatch, type LogFailure } from '../telemetry/log-lines.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { createBuiltinReducers } from '../tools/builtin-reducers.ts';
import type { Tool } from '../tools/tool.ts';
import { createIdFactory } from './create-id.ts';
import { wireExtensions } from './wire-extensions.ts';
import { wireLoad } from './wire-load.ts';
import { type WiredRedaction, wireRedaction } from './wire-redaction.ts';
import { readSessionSettings, type Stores, wireMemory, wireStore } from './wire-store.ts';
import { type ToolsOptions, type WiredTools, wireTools } from './wire-tools.ts';
import { wireTracing } from './wire-tracing.ts';

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
  /** Writes lines where the log goes; false: nobody reads them any more. Left out: to stdout. */
  readonly writeOut?: (text: string) => boolean;
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
export const wire = async (config: Config, log: Logger, options: WireOptions = {}) => {
  const services = await openServices(config, log, options);
  const { tools, pending, webhooks, load, extensions, store, decide, oncall } = services;
  const executor = createServiceExecutor(config, services, options);
  pending.start(executor.executeBatch);
  decide.start();
  oncall.start();
  const tracing = await wireTracing(config, services);
  const http = await openHttp(config, services, { executor, beginTrace: tracing.beginTrace, options });
  return {
    app: http.app,
    /** Health and metrics, where they have a port of their own. */
    opsApp: http.opsApp,
    executor,
    /** Tells the endpoints of the configuration file of events. */
    webhooks,
    /** The tools that can be called now, by name. */
    listTools: tools.registry.list,
    /** Of whoever starts the process: on SIGHUP the file is opened anew, and at an exit written to its end. */
    audit: decide.audit,
    /** Ends the processes of tools without waiting for it: for a process that exits. */
    killHosts: tools.killHosts,
    /** Readiness says no, new batches are refused, no further call starts. */
    drain: (): void => {
      pending.drain();
      http.drain();
    },
    /** Gives back what `wire` opened, after the app is closed: its work first, then the store, then where tools are. */
    close: async (): Promise<void> => {
      load.stop();
      http.closeAccess();
      decide.close();
      await oncall.close();
      await pending.close();
      // Before the store, which keeps what is not delivered.
      await webhooks.close();
      await store.close();
      await Promise.all([tools.close(), extensions.close(), tracing.close()]);
      // Last: until here calls may end.
      await decide.audit.close();
    },
  };
};
export type Service = Awaited<ReturnType<typeof wire>>;

/** All parts that the executor and the routes are made of. */
const openServices = async (config: Config, log: Logger, options: WireOptions) => {
  const { environment = {}, keyFile = readFirstKeyFile(config), extraTools = [] } = options;
  const { configFile = await readConfigFileOrThrow(config, environment) } = options;
  const { redaction = wireRedaction(config, environment) } = options;
  const { redactor } = redaction;
  const { version } = readManifest();
  const createId = createIdFactory();
  const metrics = createMetrics(version, now);
  const oncall = (await PACKAGES.oncall()).beginOncall(config, metrics);
  const { observer, onResponse } = createObservers(config, { metrics, log, watch: oncall.watch }, options);
  redaction.countIn(metrics.secretsRedacted);
  const { stores: memory, requests: budget } = wireMemory(config, log, metrics);
  const opened = await wireStore(config, { log, metrics, memory, redactor, now });
  const store = { ...opened, ...options.wrapStores?.(opened) };
  const { backend, pageTokens, sessions, keys } = store;
  const { fileAccess } = options;
  const extensions = await wireExtensions(config, { version, log, redaction, metrics, pageTokens, fileAccess });
  const load = wireLoad(config, { metrics, observer, budget, now });
  const guard = await createWorkspaceGuard(config, environment);
  const { openBackground } = await PACKAGES.background();
  const { webhooks, openCalls } = await openBackground(config, {
    ...{ backend, configFile, log, metrics, redactor, createId, now },
  });
  // Opened behind the tools, whose file may change meanwhile.
  let applyPolicies: (content: ConfigContent) => void = () => undefined;
  const tools = await wireTools(config, {
    ...{ log, metrics, observer, redaction, environment, guard, version, configFile, now },
    own: [...extensions.tools, ...createBuiltinReducers(), ...extraTools],
    ownUnavailable: extensions.unavailable,
    onContent: async (content) => {
      await webhooks.apply(content);
      applyPolicies(content);
    },
    limitOf: load.limitOf,
    hostLimits: load.hostLimits,
  });
  const apiKeys = openApiKeys(config, { log, metrics, guard, keyFile });
  const hasTool = (name: string): boolean => tools.registry.find(name) !== undefined;
  const lanes = configFile?.content.lanes;
  const pending = await openCalls({ budget, sessions, keys, apiKeys, hasTool, lanes });
  const { openDecide } = await PACKAGES.decide();
  const decide = await openDecide(config, {
    ...{ backend, keys, sessions, webhooks, redactor, log, metrics, now, time: store.time, configFile },
    ...{ registry: tools.registry, runHosted: tools.runHosted, createLog: createCallLog(log, redactor) },
    writeOut: options.writeOut ?? ((text) => process.stdout.write(text) || true),
    settlePending: pending.service.settle.bind(pending.service),
    releasePending: pending.service.release.bind(pending.service),
    findPending: async (tenant, handle) => {
      const state = await pending.service.stateOf(tenant, handle, 0);
      return state?.kind === 'ended' ? state.result : null;
    },
  });
  applyPolicies = decide.apply;
  const { time } = store;
  const { waiting } = decide;
  const findResults = createFindResults(keys, pending.answered, redactor);
  const circuits = createServiceCircuits(config, { metrics, log, memory, registry: tools.registry });
  const pages = oncall.open(config, {
    ...{ backend, redactor, log, metrics, version, now, time, waiting, circuits, tools, load, store },
    ...{ registry: tools.registry, onCircuitClosed: decide.audit.circuitClosed },
    hasResults: async (requestKey, caller) => {
      const found = await findResults(caller.tenant, requestKey);
      return found !== null && found !== 'unavailable' && maySeeAll(found.results, caller);
    },
    findPending: async (tenant, handle) => (await pending.service.lookUp(tenant, handle, 0))?.spec ?? null,
  });
  return {
    ...{ circuits, log, environment, version, now, createId, metrics, observer, onResponse, redactor, memory, budget },
    ...{ store, extensions, load, tools, webhooks, pending, decide, apiKeys, findResults, oncall: pages },
  };
};
type Services = Awaited<ReturnType<typeof openServices>>;

const readConfigFileOrThrow = async (config: Config, environment: Variables): Promise<FirstConfigFile | null> => {
  const { file, mistakes } = await readFirstConfigFile(config, environment);
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
  return file;
};

/** What counts and logs calls and answers. */
const createObservers = (
  config: Config,
  { metrics, log, watch }: { readonly metrics: Metrics; readonly log: Logger; readonly watch: CallWatch },
  options: WireOptions,
) => {
  const { telemetry, logBatch, subscribers = [] } = options;
  if (telemetry === 'off') return { observer: SILENT_OBSERVER, onResponse: () => undefined };
  const maxTools = config.METRICS_MAX_TOOLS;
  const observer = createCallObserver({ metrics, maxTools, log, now, logBatch, subscribers, watch });
  return { observer, onResponse: createResponseObserver(metrics) };
};

const createServiceCircuits = (
  config: Config,
  parts: Pick<ToolsOptions, 'metrics'> &
    Pick<WiredTools, 'registry'> & { readonly log: Logger; readonly memory: StoreMemory },
) => {
  const { metrics, log, memory, registry } = parts;
  const toolsOf = (upstream: string): readonly string[] =>
    registry.list().flatMap((tool) => (tool.upstream?.name === upstream ? [tool.name] : []));
  const observer = createCircuitObserver({ metrics, log, toolsOf });
  const { CIRCUIT_FAILURES: failures, CIRCUIT_OPEN_MS: openMs } = config;
  return createCircuitBreakers({ failures, openMs, observer, memory, now });
};

/** What runs calls, as the settings say. */
const createServiceExecutor = (config: Config, services: Services, { logFailure }: WireOptions): Executor => {
  const { log, observer, redactor, store, tools, createId } = services;
  const { registry, runHosted } = tools;
  return createExecutor({
    registry,
    runHosted,
    sessions: store.sessions,
    requests: store.requests,
    keys: store.keys,
    time: store.time,
    pending: services.pending.service,
    reconciler: services.decide.reconciler,
    policies: services.decide.policies,
    audit: services.decide.audit.calls,
    slots: services.load.slots,
    circuits: services.circuits,
    observer,
    redactor,
    failureLog: createFailureLog({ log, now, createReference: createId, logFailure }),
    createLog: createCallLog(log, redactor),
    now,
    gracefulErrors: config.GRACEFUL_TOOL_ERRORS ? 'on' : 'off',
    maxResultBytes: config.MAX_RESULT_BYTES,
    maxBatchCalls: config.MAX_BATCH_CALLS,
    maxAnswerBytes: config.MAX_ANSWER_BYTES,
    batchConcurrency: config.BATCH_CONCURRENCY,
    sessionRetries: config.SESSION_RETRIES,
    journal: config.SESSION_JOURNAL,
  });
};

type HttpServices = {
  readonly executor: Executor;
  readonly beginTrace: BeginTrace;
  readonly options: WireOptions;
};

/** The routes, and what they need of the service. */
const openHttp = (config: Config, services: Services, { executor, beginTrace, options }: HttpServices) => {
  const { log, metrics, version, createId, onResponse, redactor, memory, budget, apiKeys } = services;
  const { store, load, tools, webhooks, pending, decide, oncall, extensions } = services;
  const { registry, runHosted } = tools;
  const { answered } = pending;
  const maxResultBytes = config.MAX_RESULT_BYTES;
  return wireHttp(config, {
    ...{ log, metrics, version, createId, now, memory, apiKeys, executor, onResponse, beginTrace },
    ...extensions.http,
    added: [pending.added, decide.added, oncall.added, ...extensions.http.added],
    rates: store.rates,
    shed: load.shed,
    refusals: load.refusals,
    holdRequest: load.leaseRequest,
    mostReadings: toMostReadings(budget.limitBytes),
    metricsSharedMs: options.metricsSharedMs,
    streamHeartbeatMs: options.streamHeartbeatMs,
    dialects: PACKAGES.dialects,
    readProviderCalls: PACKAGES.dialects.createReadProviderCalls(registry),
    describeTools: redactCatalogue(registry.describe, redactor),
    watchTools: registry.watch,
    findTool: registry.find,
    readSession: createSessionReader({
      sessions: store.sessions,
      // A session is shown also while nothing can tell which of its calls are pending.
      pendingOf: (sessionKey) => pending.service.ofSession(sessionKey).catch(() => []),
      rulesOf: (sessionKey, mayUse) => decide.rulesOf(sessionKey, mayUse).catch(() => []),
      findTool: registry.find,
      reducers: registry.reducers,
      runReducer: createRunReducer({ runHosted, maxResultBytes, redactor, now }),
      settings: readSessionSettings(config),
    }),
    endSession: async (sessionKey) => {
      await store.sessions.end(sessionKey);
      oncall.sessions.ended(sessionKey);
    },
    endedSessions: store.endedSessions,
    resetBudgets: async (sessionKey, tool) => {
      await store.sessions.reset(sessionKey, tool);
      oncall.sessions.reset(sessionKey, tool);
    },
    findSessions: oncall.sessions.find,
    onSessionNamed: oncall.sessions.named,
    isUnavailable: (error) => error instanceof StoreUnavailableError,
    findResults: services.findResults,
    answered,
    pendingTasks: pending.tasks,
    hasWebhook: webhooks.has,
    readiness: () => describeReadiness(services),
  });
};

/** The results of an earlier request. They were redacted when they were stored; this service may know of other secrets. */
const createFindResults =
  (keys: Stores['keys'], answered: Pick<AnsweredCalls, 'complete'>, redactor: Redactor) =>
  async (tenant: string, requestKey: string) => {
    const found = await keys.find(requestKey);
    if (found === null || found === 'unavailable') return found;
    const results = await answered.complete(tenant, found).catch(() => 'unavailable' as const);
    if (results === null || results === 'unavailable') return results;
    return {
      results: results.map((result) => readResult(redactor.result(result, 'result'))),
      isPromised: found.isPromised,
    };
  };

const MAX_REASON = 500;

const describeReadiness = ({ store, tools, redactor }: Services): Readiness => {
  const { isComplete, missing, problems } = tools.readiness();
  const isUp = store.isUp();
  const isWhole = isUp && missing.length === 0 && problems.length === 0;
  return {
    status: isComplete ? (isWhole ? 'ready' : 'degraded') : 'tools_missing',
    store: { kind: store.kind, status: isUp ? 'up' : 'down' },
    tools: tools.registry.list().length,
    missing,
    files: problems.map(({ file, line, message }) => ({
      file,
      line,
      message: redactor.cut(message, MAX_REASON, 'log'),
    })),
    upstreams: tools.upstreams().map(({ name, status, reason, tools: offered }) => ({
      name,
      status,
      reason: reason === null ? null : redactor.cut(reason, MAX_REASON, 'log'),
      tools: offered,
    })),
  };
};
