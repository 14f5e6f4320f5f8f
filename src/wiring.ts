import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import * as z from 'zod';
import { buildApp } from './app.ts';
import { createAuthenticate, loadApiKeyFile } from './auth/api-keys.ts';
import { createOriginRule } from './auth/origin-rule.ts';
import type { Config } from './config.ts';
import { createIdFactory } from './create-id.ts';
import type { ToolInvoked } from './executor/call-observer.ts';
import type { CircuitBreakers } from './executor/circuit/circuit-breakers.ts';
import { createCircuitBreakers } from './executor/circuit/create-circuit-breakers.ts';
import { createExecutor, type Executor } from './executor/execute-batch.ts';
import type { Ready } from './routes/route-schemas.ts';
import { createCallLog } from './telemetry/create-call-log.ts';
import { createCallObserver } from './telemetry/create-call-observer.ts';
import { createCircuitObserver } from './telemetry/create-circuit-observer.ts';
import { createFailureLog } from './telemetry/create-failure-log.ts';
import { createResponseObserver } from './telemetry/create-response-observer.ts';
import { describeCauses } from './telemetry/describe-error.ts';
import { createMetrics, type Metrics } from './telemetry/metrics.ts';
import { createBuiltinReducers } from './tools/builtin-reducers.ts';
import { createBuiltinTools } from './tools/builtin-tools.ts';
import { createToolRegistry, type ToolRegistry } from './tools/registry.ts';
import type { Tool } from './tools/tool.ts';
import { wireLoad } from './wire-load.ts';
import { wireReading } from './wire-reading.ts';
import { type Stores, type WiredStore, wireStore } from './wire-store.ts';
import { wireTools } from './wire-tools.ts';

export type Service = {
  readonly app: FastifyInstance;
  readonly executor: Executor;
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
  /** Of which tool hosts get what the settings name. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Hear of every call; one that throws changes nothing. */
  readonly subscribers?: readonly ((event: ToolInvoked) => void)[];
  /** Puts something between the service and what it keeps. */
  readonly wrapStores?: (stores: Stores) => Stores;
};

const now = (): number => performance.now();

/** Puts the parts together; the only place that knows them all. */
export const wire = async (config: Config, log: Logger, options: WireOptions = {}): Promise<Service> => {
  const { extraTools = [], environment = {}, subscribers = [] } = options;
  const version = readVersion();
  const createId = createIdFactory();
  const builtin = await createBuiltinTools({
    workspaceDir: config.WORKSPACE_DIR ?? fileURLToPath(new URL('../examples/workspace', import.meta.url)),
    privateAddresses: config.FETCH_ALLOW_PRIVATE ? 'allow' : 'refuse',
    userAgent: `recourse/${version}`,
  });
  const metrics = createMetrics(version);
  const store = await wireStore(config, log, metrics, now);
  const { sessions, keys } = options.wrapStores?.(store) ?? store;
  const observer = createCallObserver({ metrics, log, maxTools: config.METRICS_MAX_TOOLS, subscribers, now });
  const load = wireLoad(config, metrics, observer, now);
  const registry = createToolRegistry([...builtin.tools, ...createBuiltinReducers(), ...extraTools], load.limitOf);
  observer.toolsOffered(registry.list());
  const tools = await wireTools(config, { log, metrics, observer, registry, now, environment });
  const executor = createExecutor({
    registry,
    sessions,
    keys,
    requests: store.requests,
    observer,
    failureLog: createFailureLog({ log, now, createReference: createId }),
    createLog: createCallLog(log),
    slots: load.slots,
    circuits: createCircuits(config, metrics, log, now),
    runHosted: tools.runHosted,
    now,
    time: Date.now,
    ...toCallLimits(config),
  });
  const apiKeys = loadApiKeys(config);
  const state = { draining: false };
  const app = await buildApp({
    version,
    maxBodyBytes: config.MAX_BODY_BYTES,
    maxDeadlineMs: config.MAX_DEADLINE_MS,
    requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
    authenticate: createAuthenticate(apiKeys),
    mayComeFrom: toOriginRule(config, apiKeys),
    isDraining: () => state.draining,
    shed: load.shed,
    executeBatch: executor.executeBatch,
    ...KEYS,
    ...wireReading(config, { sessions, keys, registry, runHosted: tools.runHosted, now }),
    createId,
    describeTools: registry.describe,
    readiness: () => toReadiness(store, state.draining, registry),
    exposition: { contentType: metrics.registry.contentType, metrics: () => metrics.registry.metrics() },
    onResponse: createResponseObserver(metrics),
    onBug: (error, id) => log.error({ request_id: id, causes: describeCauses(error) }, 'request failed'),
  });
  return {
    app,
    executor,
    drain: () => {
      state.draining = true;
      executor.drain();
    },
    killHosts: tools.killHosts,
    close: async () => {
      load.stop();
      store.close();
      await Promise.all([tools.close(), builtin.close()]);
    },
  };
};

// Whatever a caller chose is stored as its hash alone, and for its tenant alone.
const toTenantKey = (tenant: string, chosen: string): string => `${tenant}:${hash('sha256', chosen)}`;
const KEYS = { toSessionKey: toTenantKey, toRecordKey: toTenantKey, toRequestKey: toTenantKey };

const createCircuits = (config: Config, metrics: Metrics, log: Logger, now: () => number): CircuitBreakers => {
  const observer = createCircuitObserver({ metrics, log });
  return createCircuitBreakers({ failures: config.CIRCUIT_FAILURES, openMs: config.CIRCUIT_OPEN_MS, observer, now });
};

const toCallLimits = (config: Config) =>
  ({
    gracefulErrors: config.GRACEFUL_TOOL_ERRORS ? 'on' : 'off',
    maxResultBytes: config.MAX_RESULT_BYTES,
    maxBatchCalls: config.MAX_BATCH_CALLS,
    batchConcurrency: config.BATCH_CONCURRENCY,
    sessionRetries: config.SESSION_RETRIES,
    journal: config.SESSION_JOURNAL,
  }) as const;

const toOriginRule = ({ ALLOWED_ORIGINS }: Config, apiKeys: readonly string[]) =>
  createOriginRule({ allowedOrigins: ALLOWED_ORIGINS, callers: apiKeys.length === 0 ? 'anonymous' : 'known' });

const loadApiKeys = ({ API_KEYS, API_KEYS_FILE }: Config): readonly string[] =>
  API_KEYS_FILE === undefined ? API_KEYS : [...API_KEYS, ...loadApiKeyFile(API_KEYS_FILE)];

const toReadiness = ({ mode, isUp }: WiredStore, draining: boolean, { list }: ToolRegistry): Ready => {
  const status = isUp() ? 'ready' : 'degraded';
  return {
    status: draining ? 'draining' : status,
    store: { mode, status: isUp() ? 'up' : 'down' },
    tools: list().length,
  };
};

const Package = z.object({ version: z.string() });
const readVersion = (): string =>
  Package.parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))).version;
