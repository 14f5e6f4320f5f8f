import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Executor } from '../executor/run-batch.ts';
import { type AppOptions, buildApp } from '../http/app.ts';
import { loadConsoleFiles } from '../http/load-console-files.ts';
import { buildOpsApp } from '../http/ops-app.ts';
import type { Ready } from '../routes/route-schemas.ts';
import type { Config } from '../settings/config.ts';
import { describeCauses } from '../telemetry/describe-error.ts';
import { shareCollection } from '../telemetry/share-collection.ts';
import { createTenantKeys, toTenantKey } from './tenant-keys.ts';
import { type AccessParts, wireAccess } from './wire-access.ts';
import type { WiredLoad } from './wire-load.ts';
import type { wireReading } from './wire-reading.ts';

/** What is ready, as long as the service does not drain. */
export type Readiness = Ready & { readonly status: 'ready' | 'degraded' };

export type HttpParts = Pick<WiredLoad, 'shed' | 'refusals' | 'holdAnswer'> &
  ReturnType<typeof wireReading> &
  Pick<AppOptions, 'version' | 'createId' | 'describeTools' | 'readProviderCalls' | 'onResponse' | 'beginTrace'> &
  Pick<AppOptions, 'findTool' | 'endedSessions'> &
  AccessParts & {
    readonly executor: Executor;
    /** How long one collection of metrics answers all who ask, in milliseconds; left out: a second. */
    readonly metricsSharedMs?: number | undefined;
    readonly readiness: () => Readiness;
  };

export type WiredHttp = {
  readonly app: FastifyInstance;
  readonly opsApp: FastifyInstance | null;
  /** Readiness says no, new batches are refused, no further call starts. */
  readonly drain: () => void;
  /** Follows the file of keys no longer. */
  readonly closeAccess: () => void;
};

const toEntityTag = (body: string): string => `"${hash('sha256', body, 'base64url')}"`;

/** The HTTP side of the service: one server, or two where health and metrics have a port of their own. */
export const wireHttp = async (config: Config, parts: HttpParts): Promise<WiredHttp> => {
  const { executor, metrics, log, now, metricsSharedMs } = parts;
  const access = await wireAccess(config, parts);
  const state = { draining: false };
  const options: AppOptions = {
    ...parts,
    toSessionKey: createTenantKeys(),
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
    opsPort: config.OPS_PORT === undefined ? 'shared' : 'own',
    ...access,
    paceRefusal: parts.refusals.tell,
    isDraining: () => state.draining,
    consoleFiles: config.CONSOLE ? loadConsoleFiles() : null,
    docs: config.DOCS ? 'on' : 'off',
    mcpServer: config.MCP_SERVER ? 'on' : 'off',
    mcpDefaultSession: config.MCP_DEFAULT_SESSION,
    executeBatch: executor.executeBatch,
    readiness: () => (state.draining ? { ...parts.readiness(), status: 'draining' } : parts.readiness()),
    exposition: {
      contentType: metrics.registry.contentType,
      metrics: shareCollection(() => metrics.registry.metrics(), now, metricsSharedMs),
    },
    onBug: (error, id) => log.error({ request_id: id, causes: describeCauses(error) }, 'request failed'),
  };
  return {
    app: await buildApp(options),
    opsApp: options.opsPort === 'own' ? buildOpsApp(options) : null,
    drain: () => {
      state.draining = true;
      executor.drain();
      parts.refusals.tellAll();
    },
    closeAccess: access.close,
  };
};
