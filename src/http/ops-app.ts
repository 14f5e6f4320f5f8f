import type { FastifyInstance } from 'fastify';
import { addHealthRoutes, type ShowsReasons } from '../routes/health.ts';
import { addMetricsRoute, type Exposition } from '../routes/metrics.ts';
import { refuseOtherMethods } from '../routes/problem-handler.ts';
import { addRequestGate, type GateOptions } from '../routes/request-gate.ts';
import type { Ready } from '../routes/route-schemas.ts';
import { createHttpServer, type HttpServerOptions } from './http-server.ts';

export type OpsOptions = HttpServerOptions &
  GateOptions & { readonly readiness: () => Ready; readonly exposition: Exposition };

/** What those read who run the service: health and metrics, without a key. Reasons are shown where `showsReasons` says so. */
export const addOpsRoutes = (
  app: FastifyInstance,
  { readiness, exposition }: Pick<OpsOptions, 'readiness' | 'exposition'>,
  showsReasons: ShowsReasons,
): void => {
  addHealthRoutes(app, readiness, showsReasons);
  addMetricsRoute(app, exposition);
  for (const url of ['/live', '/ready', '/metrics']) refuseOtherMethods(app, url, ['GET', 'HEAD']);
};

/** The same on a port of their own (OPS_PORT), where nothing else is. Opens nothing. */
export const buildOpsApp = (options: OpsOptions): FastifyInstance => {
  const app = createHttpServer(options);
  addRequestGate(app, options);
  addOpsRoutes(app, options, () => true);
  return app;
};
