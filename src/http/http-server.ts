import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { addJsonBodyParser } from '../routes/body-parsers.ts';
import { endStalledConnections, type StallOptions } from '../routes/connections.ts';
import { handleInSlices } from '../routes/pipelining.ts';
import { addProblemHandler, createClientErrorHandler, sendHttpProblem } from '../routes/problem-handler.ts';
import { REQUEST_ID } from '../routes/stored-results.ts';
import { type WatchOptions, watchRequests } from '../routes/watch-requests.ts';

export type HttpServerOptions = StallOptions &
  WatchOptions & {
    readonly maxBodyBytes: number;
    readonly requestTimeoutMs: number;
    readonly createId: () => string;
    /** Called when an X-Request-Id is not used. */
    readonly onRequestIdRefused?: (requested: string, requestId: string) => void;
    readonly onBug: (error: unknown, requestId: string) => void;
  };

const MAX_HEADERS_MS = 10_000;
const CONNECTION_CHECK_MS = 500;

const refuse = (): never => {
  throw new Error('A route has a schema, but no schema compiler is installed.');
};

/**
 * What Fastify would else load to compile schemas is 60 ms of a start (measured). Our routes have none: what is accepted
 * and sent is decided in code, see docs/decisions.
 */
export const WITHOUT_COMPILERS = { compilersFactory: { buildValidator: refuse, buildSerializer: refuse } } as const;

/** A server without routes: what every request meets, whatever its path. Opens nothing. */
export const createHttpServer = (options: HttpServerOptions): FastifyInstance => {
  const app = fastify({
    logger: false,
    bodyLimit: options.maxBodyBytes,
    // Fastify would answer by itself, without a problem, what comes on an open connection once it closes: the gate does.
    return503OnClosing: false,
    requestTimeout: options.requestTimeoutMs,
    routerOptions: { maxParamLength: 1024 },
    requestIdHeader: false,
    genReqId: ({ headers }) => pickRequestId(headers['x-request-id'], options),
    clientErrorHandler: createClientErrorHandler(options.createId),
    // Answered here: what is thrown inside the router ends the process.
    frameworkErrors: (error, request, reply) => {
      void reply.header('x-request-id', request.id);
      void sendHttpProblem(request, reply, error.statusCode ?? 400);
    },
    schemaController: WITHOUT_COMPILERS,
    http: {
      // Node would answer without a body; the gate refuses such a request in the usual form.
      requireHostHeader: false,
      headersTimeout: Math.min(MAX_HEADERS_MS, options.requestTimeoutMs),
      connectionsCheckingInterval: CONNECTION_CHECK_MS,
    },
  });
  handleInSlices(app.server, app.routing);
  endStalledConnections(app.server, options);
  addJsonBodyParser(app);
  addProblemHandler(app, options.onBug);
  watchRequests(app, options);
  return app;
};

const pickRequestId = (
  requested: FastifyRequest['headers'][string],
  { createId, onRequestIdRefused }: Pick<HttpServerOptions, 'createId' | 'onRequestIdRefused'>,
): string => {
  if (requested === undefined) return createId();
  if (typeof requested === 'string' && REQUEST_ID.test(requested)) return requested;
  const made = createId();
  onRequestIdRefused?.(String(requested), made);
  return made;
};
