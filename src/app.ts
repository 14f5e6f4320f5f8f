import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import fastify, { type FastifyInstance, type FastifyPluginAsync, type FastifyRequest } from 'fastify';
import type { ToolDescription } from './contract/tool-description.ts';
import { addHealthRoutes } from './routes/health.ts';
import { addJsonBodyParser } from './routes/json-body.ts';
import { addKeptResultsRoute, type KeptResultsOptions, REQUEST_ID } from './routes/kept-results.ts';
import { addMetricsRoute, type Exposition } from './routes/metrics.ts';
import {
  addProblemHandler,
  createClientErrorHandler,
  refuseOtherMethods,
  sendHttpProblem,
} from './routes/problem-handler.ts';
import { addRequestGate, callerOf, type GateOptions } from './routes/request-gate.ts';
import { DOCUMENT_COMPONENTS, type Ready } from './routes/route-schemas.ts';
import { addSessionsRoutes, type SessionsOptions } from './routes/sessions.ts';
import { addToolCallsRoute, type ToolCallsOptions } from './routes/tool-calls.ts';
import { addToolsRoutes } from './routes/tools.ts';

export type AppOptions = GateOptions &
  Omit<ToolCallsOptions, 'callerOf'> &
  Omit<SessionsOptions, 'callerOf'> &
  Omit<KeptResultsOptions, 'callerOf'> & {
    readonly version: string;
    readonly maxBodyBytes: number;
    readonly requestTimeoutMs: number;
    readonly describeTools: () => readonly ToolDescription[];
    readonly readiness: () => Ready;
    readonly exposition: Exposition;
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

/** Composes the HTTP side; opens nothing. */
export const buildApp = async (options: AppOptions): Promise<FastifyInstance> => {
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
  addJsonBodyParser(app);
  addProblemHandler(app, options.onBug);
  addRequestGate(app, options);
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? '_unmatched';
    options.onResponse({ method: request.method, route, status: reply.statusCode, seconds: reply.elapsedTime / 1000 });
    done();
  });
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: toInfo(options.version), components: DOCUMENT_COMPONENTS },
  });
  await app.register(addRoutes, options);
  await app.register(swaggerUi, { routePrefix: '/docs' });
  return app;
};

// A plugin, so that swagger, registered before it, sees its routes.
const addRoutes: FastifyPluginAsync<AppOptions> = async (app, options) => {
  addToolCallsRoute(app, { ...options, callerOf });
  addKeptResultsRoute(app, { ...options, callerOf });
  addSessionsRoutes(app, { ...options, callerOf });
  addToolsRoutes(app, { describeTools: options.describeTools, callerOf });
  addHealthRoutes(app, options.readiness);
  addMetricsRoute(app, options.exposition);
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
  refuseOtherMethods(app, '/tool-calls', ['POST']);
  refuseOtherMethods(app, '/tool-calls/:request_id', ['GET', 'HEAD']);
  refuseOtherMethods(app, '/sessions/:id', ['GET', 'HEAD', 'DELETE']);
  for (const url of ['/sessions/:id/budgets', '/sessions/:id/budgets/:tool']) refuseOtherMethods(app, url, ['DELETE']);
  for (const url of ['/tools', '/tools/:name', '/live', '/ready', '/metrics', '/openapi.json'])
    refuseOtherMethods(app, url, ['GET', 'HEAD']);
};

const toInfo = (version: string) => ({
  title: 'Recourse',
  version,
  description: 'Executes tools for LLM agents. Every call comes back as a result the model can read and act on.',
});

const toRequestId = (given: FastifyRequest['headers'][string], createId: () => string): string =>
  typeof given === 'string' && REQUEST_ID.test(given) ? given : createId();
