import type { FastifyInstance } from 'fastify';
import { METRICS_SCHEMA } from './route-schemas.ts';

export type Exposition = { readonly contentType: string; readonly metrics: () => Promise<string> };

/** GET /metrics in the Prometheus text format. */
export const addMetricsRoute = (app: FastifyInstance, exposition: Exposition): void => {
  app.get('/metrics', { schema: METRICS_SCHEMA }, async (_request, reply) =>
    reply.type(exposition.contentType).send(await exposition.metrics()),
  );
};
