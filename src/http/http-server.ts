import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { addJsonBodyParser } from '../routes/json-body.ts';
import { REQUEST_ID } from '../routes/kept-results.ts';
import { addProblemHandler, createClientErrorHandler, sendHttpProblem } from '../routes/problem-handler.ts';
import { endStalledConnections, type StallOptions } from '../routes/stalled-connections.ts';

export type HttpServerOptions = StallOptions & {
  readonly maxBodyBytes: number;
  readonly requestTimeoutMs: number;
  readonly createId: () => string;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Hears of every answer that was sent to its last byte. */
  readonly onResponse: (request: {
    readonly method: string;
    readonly route: string;
    readonly status: number;
    readonly seconds: number;
  }) => void;
  readonly onBug: (error: unknown, requestId: string) => void;
};

const MAX_HEADERS_MS = 10_000;
const CONNECTION_CHECK_MS = 500;

/** A server without routes: what every request meets, whatever its path. Opens nothing. */
export const createHttpServer = (options: HttpServerOptions): FastifyInstance => {
  const app = fastify({
    logger: false,
    bodyLimit: options.maxBodyBytes,
    requestTimeout: options.requestTimeoutMs,
    routerOptions: { maxParamLength: 1024 },
    requestIdHeader: false,
    genReqId: ({ headers }) => toRequestId(headers['x-request-id'], options.createId),
    clientErrorHandler: createClientErrorHandler(options.createId),
    // Answered here: what is thrown inside the router ends the process.
    frameworkErrors: (error, request, reply) => {
      void reply.header('x-request-id', request.id);
      void sendHttpProblem(request, reply, error.statusCode ?? 400);
    },
    http: {
      // Node would answer without a body; the gate refuses such a request in the usual form.
      requireHostHeader: false,
      headersTimeout: Math.min(MAX_HEADERS_MS, options.requestTimeoutMs),
      connectionsCheckingInterval: CONNECTION_CHECK_MS,
    },
  });
  // The schemas are for the document. What is accepted and sent is decided in code: see docs/decisions.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (payload) => JSON.stringify(payload));
  endStalledConnections(app.server, options);
  addJsonBodyParser(app);
  addProblemHandler(app, options.onBug);
  // Not onResponse: with it Fastify watches each answer by two listeners of its own, and times it.
  app.addHook('onRequest', (request, { raw }, done) => {
    const { method } = request;
    const route = request.routeOptions.url ?? '_unmatched';
    const startedAt = options.now();
    raw.on('close', () => {
      if (!raw.writableFinished) return;
      options.onResponse({ method, route, status: raw.statusCode, seconds: (options.now() - startedAt) / 1000 });
    });
    done();
  });
  return app;
};

const toRequestId = (given: FastifyRequest['headers'][string], createId: () => string): string =>
  typeof given === 'string' && REQUEST_ID.test(given) ? given : createId();
