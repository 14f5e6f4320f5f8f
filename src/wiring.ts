import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import * as z from 'zod';
import type { KeyFile } from './auth/key-file.ts';
import { createIdFactory } from './create-id.ts';
import type { ToolInvoked } from './executor/call-observer.ts';
import { createCircuitBreakers } from './executor/circuit/create-circuit-breakers.ts';
import type { CircuitBreakers } from './executor/circuit-breakers.ts';
import { createReadProviderCalls } from './executor/provider-calls.ts';
import type { Redactor } from './executor/redactor.ts';
import { createExecutor, type Executor } from './executor/run-batch.ts';
import type { ProcessTable } from './isolation/process-table.ts';
import type { StoreMemory } from './memory/store-memory.ts';
import { redactCatalogue } from './redaction/redact-catalogue.ts';
import type { Config } from './settings/config.ts';
import { createCallLog } from './telemetry/create-call-log.ts';
import { createCircuitObserver } from './telemetry/create-circuit-observer.ts';
import { createFailureLog, type LogFailure } from './telemetry/create-failure-log.ts';
import type { LogBatch } from './telemetry/log-batch.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { FileAccess } from './tools/builtin/workspace/file-access.ts';
import { createBuiltinReducers } from './tools/groups/builtin-reducers.ts';
import type { UpstreamState } from './tools/offers/tool-source.ts';
import type { ToolRegistry } from './tools/registry.ts';
import type { Tool } from './tools/tool.ts';
import type { FirstConfigFile } from './wiring/first-config-file.ts';
import { wireBuiltin } from './wiring/wire-builtin.ts';
import { type Readiness, wireHttp } from './wiring/wire-http.ts';
import { wireLoad } from './wiring/wire-load.ts';
import { wireMemory } from './wiring/wire-memory.ts';
import { wireRates } from './wiring/wire-rates.ts';
import { wireReading } from './wiring/wire-reading.ts';
import { type WiredRedaction, wireRedaction } from './wiring/wire-redaction.ts';
import { type Stores, type WiredStore, wireStore } from './wiring/wire-store.ts';
import { wireTelemetry } from './wiring/wire-telemetry.ts';
import { wireTools } from './wiring/wire-tools.ts';
import { wireTracing } from './wiring/wire-tracing.ts';
import { createWorkspaceGuard } from './wiring/workspace-guard.ts';

export type Service = {
  readonly app: FastifyInstance;
  /** Health and metrics, where they have a port of their own. */
  readonly opsApp: FastifyInstance | null;
  readonly executor: Executor;
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
  /** What the heap may grow to, in bytes; asked of V8 if left out. */
  readonly heapLimitBytes?: number;
  /** How long one collection of metrics answers all who ask, in milliseconds; left out: a second. */
  readonly metricsSharedMs?: number;
  /** How the file tools keep to their directories; left out: what this system offers. */
  readonly fileAccess?: FileAccess | undefined;
  /** How the service learns of the processes of tools; left out: by what this system offers. */
  readonly processes?: ProcessTable | undefined;
  /** Puts something between the service and what it keeps. */
  readonly wrapStores?: (stores: Stores) => Stores;
};

const now = (): number => performance.now();

/** Puts the parts together; the only place that knows them all. */
export const wire = async (config: Config, log: Logger, options: WireOptions = {}): Promise<Service> => {
  const { extraTools = [], environment = {}, subscribers = [], telemetry = 'on', logBatch } = options;
  const version = readVersion();
  const createId = createIdFactory();
  const telemetered = wireTelemetry(config, { version, log, logBatch, now, subscribers, telemetry });
  const { metrics, observer } = telemetered;
  const redaction = options.redaction ?? wireRedaction(config, environment);
  const { redactor } = redaction;
  redaction.countIn(metrics.secretsRedacted);
  const memory = wireMemory(config, log, metrics, options.heapLimitBytes);
  const store = await wireStore(config, { log, metrics, memory, redactor, now });
  const { sessions, keys } = options.wrapStores?.(store) ?? store;
  const builtin = await wireBuiltin(config, { ...options, version, log, redaction, pageTokens: store.pageTokens });
  const load = wireLoad(config, metrics, observer, now);
  const own = [...builtin.tools, ...createBuiltinReducers(), ...extraTools];
  const guard = await createWorkspaceGuard({ config, environment });
  const shared = { log, metrics, observer, now, environment, version, redaction, guard };
  const offered = { own, ownUnavailable: builtin.unavailable, ...load.toolLimits, configFile: options.configFile };
  const { registry, ...tools } = await wireTools(config, { ...options, ...shared, ...offered });
  const executor = createExecutor({
    registry,
    sessions,
    keys,
    requests: store.requests,
    observer,
    failureLog: createFailureLog({ log, now, createReference: createId, logFailure: options.logFailure }),
    createLog: createCallLog(log, redactor),
    redactor,
    slots: load.slots,
    circuits: createCircuits(config, { metrics, log, registry, memory, now }),
    runHosted: tools.runHosted,
    now,
    time: Date.now,
    ...toCallLimits(config),
  });
  const tracing = await wireTracing(config, { version, log, environment, now, redactor });
  const { closeAccess, ...http } = await wireHttp(config, {
    ...load,
    ...wireReading(config, { ...store, sessions, keys, registry, runHosted: tools.runHosted, redactor, now }),
    version,
    createId,
    executor,
    ...telemetered,
    log,
    now,
    guard,
    keyFile: options.keyFile,
    metricsSharedMs: options.metricsSharedMs,
    limitRate: await wireRates(config, store, { metrics, memory, now }),
    beginTrace: tracing.beginTrace,
    describeTools: redactCatalogue(registry.describe, redactor),
    readProviderCalls: createReadProviderCalls(registry),
    readiness: () => toReadiness(store, registry, tools.upstreams(), redactor),
  });
  const service = { ...http, executor, listTools: registry.list, killHosts: tools.killHosts };
  return {
    ...service,
    close: async () => {
      load.stop();
      closeAccess();
      store.close();
      await Promise.all([tools.close(), builtin.close(), tracing.close()]);
    },
  };
};

type CircuitParts = {
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly registry: ToolRegistry;
  readonly memory: StoreMemory;
  readonly now: () => number;
};

const createCircuits = (config: Config, { metrics, log, registry, memory, now }: CircuitParts): CircuitBreakers => {
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

const toReadiness = (
  { mode, isUp }: WiredStore,
  { list }: ToolRegistry,
  upstreams: readonly UpstreamState[],
  redactor: Redactor,
): Readiness => ({
  status: isUp() ? 'ready' : 'degraded',
  store: { mode, status: isUp() ? 'up' : 'down' },
  tools: list().length,
  upstreams: upstreams.map(({ name, status, reason, tools }) => ({
    name,
    status,
    reason: reason === null ? null : redactor.cut(reason, MAX_REASON, 'log'),
    tools,
  })),
});

const Package = z.object({ version: z.string() });
const readVersion = (): string =>
  Package.parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))).version;
