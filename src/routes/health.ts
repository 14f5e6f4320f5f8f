import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ready } from './route-schemas.ts';

/** Whether this request may read why an upstream is down: the last words of a process may be in it. */
export type ShowsReasons = (request: FastifyRequest) => boolean | Promise<boolean>;

/** GET /live: the process answers. GET /ready: calls should be sent here; 503 while draining. */
export const addHealthRoutes = (app: FastifyInstance, readiness: () => Ready, showsReasons: ShowsReasons): void => {
  app.get('/live', { config: { operation: 'live' } }, async () => ({ status: 'live' }));
  app.get('/ready', { config: { operation: 'ready' } }, async (request, reply) => {
    const ready = (await showsReasons(request)) ? readiness() : withoutReasons(readiness());
    return reply.code(ready.status === 'draining' ? 503 : 200).send(ready);
  });
};

const withoutReasons = (ready: Ready): Ready => ({
  ...ready,
  upstreams: ready.upstreams.map((upstream) => ({ ...upstream, reason: null })),
});
