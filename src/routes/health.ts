import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { refuseOtherMethods } from './problem-handler.ts';

/** The answer of GET /ready. */
export const Ready = z.object({
  status: z.enum(['ready', 'degraded', 'draining']),
  store: z.object({ mode: z.enum(['memory', 'redis']), status: z.enum(['up', 'down']) }),
  tools: z.int(),
  upstreams: z
    .array(
      z.object({
        name: z.string(),
        status: z.enum(['connecting', 'up', 'down', 'held']),
        reason: z
          .string()
          .nullable()
          .describe(
            'Why the upstream is not `up`, in one line; null if it is up, or for callers without a key on PORT.',
          ),
        tools: z.int(),
      }),
    )
    .describe('The upstreams that provide tools. One that is down does not change the readiness of the service.'),
});
export type Ready = z.infer<typeof Ready>;

export type OpsRoutesOptions = {
  readonly readiness: () => Ready;
  readonly exposition: { readonly contentType: string; readonly metrics: () => Promise<string> };
};

/**
 * GET /live: the process answers. GET /ready: calls should be sent here; 503 while draining. GET /metrics in the Prometheus
 * text format. `showsReasons`: whether a request may read why an upstream is down, for the last words of a process may be in it.
 */
export const addOpsRoutes = (
  app: FastifyInstance,
  { readiness, exposition }: OpsRoutesOptions,
  showsReasons: (request: FastifyRequest) => boolean | Promise<boolean>,
): void => {
  app.get('/live', async () => ({ status: 'live' }));
  app.get('/ready', async (request, reply) => {
    const ready = (await showsReasons(request)) ? readiness() : withoutReasons(readiness());
    return reply.code(ready.status === 'draining' ? 503 : 200).send(ready);
  });
  app.get('/metrics', async (_request, reply) => reply.type(exposition.contentType).send(await exposition.metrics()));
  for (const url of ['/live', '/ready', '/metrics']) refuseOtherMethods(app, url, ['GET', 'HEAD']);
};

const withoutReasons = (ready: Ready): Ready => ({
  ...ready,
  upstreams: ready.upstreams.map((upstream) => ({ ...upstream, reason: null })),
});
