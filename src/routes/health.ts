import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { refuseOtherMethods } from './problem-handler.ts';

/** The answer of GET /ready. */
export const Ready = z.object({
  status: z
    .enum(['ready', 'degraded', 'tools_missing', 'draining'])
    .describe(
      '`degraded`: it serves without Redis, or some tools do not serve as they should. `tools_missing`: tools of TOOLS_REQUIRED have not loaded since the start.',
    ),
  store: z.object({ kind: z.enum(['memory', 'sqlite', 'redis']), status: z.enum(['up', 'down']) }),
  tools: z.int(),
  missing: z
    .array(z.string())
    .readonly()
    .describe('The entries of TOOLS_REQUIRED that are not met. Empty for callers without a key on PORT.'),
  files: z
    .array(
      z.object({
        file: z.string().describe('Relative to TOOLS_DIR.'),
        line: z.int().nullable(),
        message: z.string().describe('What is wrong, in one line.'),
      }),
    )
    .describe(
      'The files of TOOLS_DIR that do not serve in their newest version, or of which a tool does not serve. Empty for callers without a key on PORT.',
    ),
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
 * GET /live: the process answers. GET /ready: calls should be sent here; 503 while draining, and until required
 * tools have loaded. GET /metrics in the Prometheus text format. `showsReasons`: whether a request may read which tools are
 * missing, which files do not load and why an upstream is down: the last words of a process may be in it, and files mostly
 * have the names of their tools.
 */
export const addOpsRoutes = (
  app: FastifyInstance,
  { readiness, exposition }: OpsRoutesOptions,
  showsReasons: (request: FastifyRequest) => boolean | Promise<boolean>,
): void => {
  app.get('/live', async () => ({ status: 'live' }));
  app.get('/ready', async (request, reply) => {
    const ready = (await showsReasons(request)) ? readiness() : withoutReasons(readiness());
    return reply.code(NOT_READY.has(ready.status) ? 503 : 200).send(ready);
  });
  app.get('/metrics', async (_request, reply) => reply.type(exposition.contentType).send(await exposition.metrics()));
  for (const url of ['/live', '/ready', '/metrics']) refuseOtherMethods(app, url, ['GET', 'HEAD']);
};

const NOT_READY: ReadonlySet<Ready['status']> = new Set(['tools_missing', 'draining']);

const withoutReasons = (ready: Ready): Ready => ({
  ...ready,
  missing: [],
  files: [],
  upstreams: ready.upstreams.map((upstream) => ({ ...upstream, reason: null })),
});
