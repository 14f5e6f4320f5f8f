import type { FastifyInstance } from 'fastify';
import { isJsonBody } from '../routes/body-parsers.ts';
import { addOpsRoutes, type OpsRoutesOptions } from '../routes/health.ts';
import { addRootRoute } from '../routes/pages.ts';
import { refuseOtherMethods } from '../routes/problem-handler.ts';
import { addRequestGate, callerOf, type GateOptions, isKnown, tellRefused } from '../routes/request-gate.ts';
import type { AddedRoutes, RouteHost } from '../routes/route-host.ts';
import { addSessionsRoutes, type SessionsOptions } from '../routes/sessions.ts';
import { addStoredResultsRoutes, type StoredResultsOptions } from '../routes/stored-results.ts';
import { addToolCallsRoute, type ToolCallsOptions } from '../routes/tool-calls.ts';
import { addToolsRoutes, type ToolsOptions } from '../routes/tools.ts';
import { addRequestTracing, type BeginTrace } from '../routes/watch-requests.ts';
import { addDocs } from './docs.ts';
import { createHttpServer, type HttpServerOptions } from './http-server.ts';

type OpsOptions = HttpServerOptions & GateOptions & OpsRoutesOptions;

export type AppOptions = OpsOptions &
  ToolCallsOptions &
  SessionsOptions &
  StoredResultsOptions &
  ToolsOptions &
  Pick<RouteHost, 'findTool' | 'endedSessions' | 'watchTools' | 'draining' | 'pendingTasks' | 'consolePages'> & {
    readonly version: string;
    /** `own`: health and metrics are served on a port of their own, and not here. */
    readonly opsPort: 'own' | 'shared';
    readonly beginTrace: BeginTrace | null;
    /** Whether `/docs` and `/openapi.json` are served. */
    readonly docs: 'on' | 'off';
    /** What extensions add, in their order. */
    readonly added: readonly AddedRoutes[];
  };

/** Composes the HTTP side; opens nothing. */
export const buildApp = async (options: AppOptions): Promise<FastifyInstance> => {
  const app = createHttpServer(options);
  addRequestGate(app, options);
  // After the gate: who may not come in must not fill the collector, whatever its traceparent asks for.
  addRequestTracing(app, options.beginTrace);
  addRoutes(app, options);
  if (options.docs === 'on') await app.register(addDocs);
  return app;
};

/** Health and metrics on a port of their own (OPS_PORT), where nothing else is. Opens nothing. */
export const buildOpsApp = (options: OpsOptions): FastifyInstance => {
  const app = createHttpServer(options);
  addRequestGate(app, options);
  addOpsRoutes(app, options, () => true);
  return app;
};

// What is served depends on settings.
const listLinks = ({ docs, added, opsPort }: AppOptions): Readonly<Record<string, string>> => {
  const calls = { tool_calls: '/tool-calls', tools: '/tools' };
  const others = {
    ...(docs === 'on' ? { docs: '/docs', openapi: '/openapi.json' } : {}),
    ...(opsPort === 'shared' ? { live: '/live', ready: '/ready', metrics: '/metrics' } : {}),
  };
  // The service's own last: no extension takes their names.
  return { ...calls, ...Object.assign({}, ...added.map(({ links }) => links)), ...calls, ...others };
};

const addRoutes = (app: FastifyInstance, options: AppOptions): void => {
  addToolCallsRoute(app, options);
  addStoredResultsRoutes(app, options);
  addSessionsRoutes(app, options);
  addToolsRoutes(app, options);
  const host: RouteHost = {
    ...options,
    callerOf,
    tellRefused: (request) => tellRefused('operation', request, options),
    bodyOf: ({ body }) => (isJsonBody(body) ? body.value : undefined),
  };
  for (const { addRoutes: add } of options.added) add?.(app, host);
  if (options.opsPort === 'shared') addOpsRoutes(app, options, (request) => isKnown(request, options));
  const links = listLinks(options);
  addRootRoute(app, { version: options.version, links, page: links['console']?.slice(1) ?? null });
  for (const [url, methods] of METHODS) refuseOtherMethods(app, url, methods);
};

const METHODS: ReadonlyMap<string, readonly string[]> = new Map([
  ['/tool-calls', ['POST']],
  ['/tool-calls/:request_id', ['GET', 'HEAD', 'DELETE']],
  ['/tool-calls/:request_id/calls/:index', ['DELETE']],
  ['/tool-calls/:request_id/events', ['GET', 'HEAD']],
  ['/sessions/:id', ['GET', 'HEAD', 'DELETE']],
  ['/sessions/:id/budgets', ['DELETE']],
  ['/sessions/:id/budgets/:tool', ['DELETE']],
  ['/tools', ['GET', 'HEAD']],
  ['/tools/:name', ['GET', 'HEAD']],
]);
