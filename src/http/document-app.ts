import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import fastify, { type FastifyInstance, type FastifySchema, type HTTPMethods } from 'fastify';
import { GET_TOOL_SCHEMA, LIST_TOOLS_SCHEMA } from '../routes/catalogue-schemas.ts';
import type { Operation } from '../routes/operations.ts';
import { DOCUMENT_COMPONENTS, LIVE_SCHEMA, METRICS_SCHEMA, READY_SCHEMA } from '../routes/route-schemas.ts';
import {
  END_SESSION_SCHEMA,
  GET_RESULTS_SCHEMA,
  GET_SESSION_SCHEMA,
  RESET_BUDGETS_SCHEMA,
  RESET_TOOL_SCHEMA,
} from '../routes/session-schemas.ts';
import { TOOL_CALLS_SCHEMA } from '../routes/tool-calls-schema.ts';
import { WITHOUT_COMPILERS } from './http-server.ts';

/** A route of the service that is in the document. */
export type DocumentedRoute = {
  readonly method: HTTPMethods | HTTPMethods[];
  readonly url: string;
  readonly operation: Operation;
};

export type DocumentOptions = { readonly version: string; readonly routes: readonly DocumentedRoute[] };

const SCHEMAS: Readonly<Record<Operation, FastifySchema>> = {
  executeToolCalls: TOOL_CALLS_SCHEMA,
  getToolCallResults: GET_RESULTS_SCHEMA,
  getSession: GET_SESSION_SCHEMA,
  endSession: END_SESSION_SCHEMA,
  resetBudgets: RESET_BUDGETS_SCHEMA,
  resetToolBudget: RESET_TOOL_SCHEMA,
  listTools: LIST_TOOLS_SCHEMA,
  getTool: GET_TOOL_SCHEMA,
  live: LIVE_SCHEMA,
  ready: READY_SCHEMA,
  metrics: METRICS_SCHEMA,
};

/**
 * What answers below /docs, and makes the document: an app of its own, which never listens. Its routes stand for those of
 * the service and are never called.
 */
export const createDocumentApp = async ({ version, routes }: DocumentOptions): Promise<FastifyInstance> => {
  const app = fastify({ logger: false, schemaController: WITHOUT_COMPILERS });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (payload) => JSON.stringify(payload));
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: toInfo(version), components: DOCUMENT_COMPONENTS },
  });
  // A plugin, so that swagger, registered before it, sees its routes.
  await app.register((documented, _options, done) => {
    for (const { operation, ...route } of routes)
      documented.route({ ...route, schema: SCHEMAS[operation], handler: async () => undefined });
    done();
  });
  await app.register(swaggerUi, { routePrefix: '/docs' });
  await app.ready();
  return app;
};

const toInfo = (version: string) => ({
  title: 'Recourse',
  version,
  description: 'Executes tools for LLM agents. Every call comes back as a result the model can read and act on.',
});
