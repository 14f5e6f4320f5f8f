import { hash } from 'node:crypto';
import type { Config } from '../config/settings/config.ts';
import type { Executor } from '../executor/run-batch.ts';
import type { RefusalPace } from '../queue/refusal-pace.ts';
import { HEARTBEAT_MS } from '../routes/event-stream.ts';
import type { Ready } from '../routes/health.ts';
import { createOpenReadings } from '../routes/open-readings.ts';
import { describeCauses } from '../telemetry/describe-error.ts';
import { shareCollection } from '../telemetry/metrics.ts';
import { createRequestIdLog } from '../telemetry/repeated-lines.ts';
import { type AccessParts, createAccess } from './access.ts';
import { type AppOptions, buildApp, buildOpsApp } from './build-app.ts';

/** What is ready, as long as the service does not drain. */
export type Readiness = Ready & { readonly status: Exclude<Ready['status'], 'draining'> };

/** What the routes need of the service. */
export type HttpParts = AccessParts &
  Pick<AppOptions, 'shed' | 'holdRequest' | 'version' | 'createId' | 'onResponse' | 'beginTrace'> &
  Pick<
    AppOptions,
    'describeTools' | 'watchTools' | 'readProviderCalls' | 'findTool' | 'findResults' | 'isUnavailable'
  > &
  Pick<AppOptions, 'answered' | 'hasWebhook' | 'pendingTasks'> &
  Pick<AppOptions, 'dialects' | 'added' | 'consolePages'> &
  Pick<AppOptions, 'readSession' | 'findSessions' | 'endSession' | 'endedSessions' | 'resetBudgets'> & {
    /** Told with each batch which id its session key was made of; undefined: nobody keeps that. */
    readonly onSessionNamed: ((sessionKey: string, sessionId: string) => void) | undefined;
    readonly executor: Executor;
    /** When a batch that is shed is told. */
    readonly refusals: RefusalPace;
    /** How long one collection of metrics answers all who ask, in milliseconds; undefined: a second. */
    readonly metricsSharedMs: number | undefined;
    /** How often an idle stream gets a sign of life, in milliseconds; undefined: every 15 s. */
    readonly streamHeartbeatMs: number | undefined;
    /** Metrics of extensions beside those of the service, as Prometheus text; null: there are none. Never rejects. */
    readonly collectAdded: (() => Promise<string>) | null;
    readonly readiness: () => Readiness;
    /** How many answers may wait or stream at once. */
    readonly mostReadings: number;
  };

/** The HTTP side of the service: one server, or two where health and metrics have a port of their own. */
export const wireHttp = async (config: Config, parts: HttpParts) => {
  const { executor, metrics, log, now, metricsSharedMs } = parts;
  const access = await createAccess(config, parts);
  const readings = createOpenReadings({ ...access, most: parts.mostReadings, time: Date.now });
  access.onKeysChange(readings.recheck);
  const drain = new AbortController();
  const { signal: draining } = drain;
  const { collectAdded } = parts;
  const collect = async (): Promise<string> => (await metrics.registry.metrics()) + ((await collectAdded?.()) ?? '');
  const options: AppOptions = {
    ...parts,
    toSessionKey: withNames(createTenantKeys(), parts.onSessionNamed),
    toRecordKey: toTenantKey,
    toRequestKey: toTenantKey,
    toEntityTag,
    maxBodyBytes: config.MAX_BODY_BYTES,
    maxDeadlineMs: config.MAX_DEADLINE_MS,
    requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
    stallMs: config.ANSWER_STALL_MS,
    onStalled: () => {
      metrics.connectionsStalled.count += 1;
    },
    streams: { heartbeatMs: parts.streamHeartbeatMs ?? HEARTBEAT_MS, observer: metrics.streams },
    opsPort: config.OPS_PORT === undefined && config.ROLE !== 'worker' ? 'shared' : 'own',
    ...access,
    readings,
    paceRefusal: parts.refusals.tell,
    draining,
    isDraining: () => draining.aborted,
    docs: config.DOCS ? 'on' : 'off',
    executeBatch: executor.executeBatch,
    dryRun: executor.dryRun,
    readiness: () => (draining.aborted ? { ...parts.readiness(), status: 'draining' } : parts.readiness()),
    exposition: {
      contentType: metrics.registry.contentType,
      metrics: shareCollection(collect, now, metricsSharedMs),
    },
    onRequestIdRefused: createRequestIdLog(log, now),
    onBug: (error, id) => log.error({ request_id: id, causes: describeCauses(error) }, 'request failed'),
  };
  return {
    app: await buildApp(options),
    /** Health and metrics, where they have a port of their own. */
    opsApp: options.opsPort === 'own' ? buildOpsApp(options) : null,
    /** Readiness says no, new batches are refused, no further call starts. */
    drain: (): void => {
      drain.abort();
      executor.drain();
      parts.refusals.tellAll();
    },
    /** Follows the file of keys no longer. */
    closeAccess: access.close,
  };
};

type ToSessionKey = AppOptions['toSessionKey'];

const withNames = (toKey: ToSessionKey, onNamed: HttpParts['onSessionNamed']): ToSessionKey =>
  onNamed === undefined
    ? toKey
    : (tenant, sessionId) => {
        const key = toKey(tenant, sessionId);
        onNamed(key, sessionId);
        return key;
      };

const toEntityTag = (body: string): string => `"${hash('sha256', body, 'base64url')}"`;

// Whatever a caller chose is stored as its hash alone, and for its tenant alone.
const toTenantKey = (tenant: string, chosen: string): string => `${tenant}:${hash('sha256', chosen)}`;

// A name has at most 512 places: about 3 MB at most, and 0.5 MB of usual names.
const REMEMBERED_NAMES = 2000;

/** An opaque key for what a tenant named: for names that come again and again, as that of a session with each batch. */
export const createTenantKeys = (): ((tenant: string, chosen: string) => string) => {
  // Two generations, of which the older is forgotten: an order of use would be moved with every batch.
  let young = new Map<string, string>();
  let old = new Map<string, string>();
  return (tenant, chosen) => {
    // No tenant has a colon in its name.
    const name = `${tenant}:${chosen}`;
    const remembered = young.get(name);
    if (remembered !== undefined) return remembered;
    const key = old.get(name) ?? toTenantKey(tenant, chosen);
    if (young.size >= REMEMBERED_NAMES / 2) [old, young] = [young, new Map()];
    young.set(name, key);
    return key;
  };
};
