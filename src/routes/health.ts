import type { FastifyInstance } from 'fastify';
import { LIVE_SCHEMA, READY_SCHEMA, type Ready } from './route-schemas.ts';

/** GET /live: the process answers. GET /ready: calls should be sent here; 503 while draining. */
export const addHealthRoutes = (app: FastifyInstance, readiness: () => Ready): void => {
  app.get('/live', { schema: LIVE_SCHEMA }, async () => ({ status: 'live' }));
  app.get('/ready', { schema: READY_SCHEMA }, async (_request, reply) => {
    const ready = readiness();
    return reply.code(ready.status === 'draining' ? 503 : 200).send(ready);
  });
};
