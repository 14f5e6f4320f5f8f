import type { FastifyInstance } from 'fastify';

export type Exposition = { readonly contentType: string; readonly metrics: () => Promise<string> };

/** GET /metrics in the Prometheus text format. */
export const addMetricsRoute = (app: FastifyInstance, exposition: Exposition): void => {
  app.get('/metrics', { config: { operation: 'metrics' } }, async (_request, reply) =>
    reply.type(exposition.contentType).send(await exposition.metrics()),
  );
};
