import swagger from '@fastify/swagger';
import swaggerUi, { type FastifySwaggerUiOptions } from '@fastify/swagger-ui';
import fastify, { type FastifyInstance, type FastifySchema, type HTTPMethods } from 'fastify';
import { GET_TOOL_SCHEMA, LIST_TOOLS_SCHEMA } from '../routes/catalogue-schemas.ts';
import { doorOf } from '../routes/doors.ts';
import type { Operation } from '../routes/operations.ts';
import { withExamplesInSchemas } from '../routes/parameter-examples.ts';
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
    openapi: toOpenapi(version),
    transformObject: (made) => withExamplesInSchemas('openapiObject' in made ? made.openapiObject : made.swaggerObject),
  });
  // A plugin, so that swagger, registered before it, sees its routes.
  await app.register((documented, _options, done) => {
    for (const { operation, ...route } of routes)
      documented.route({
        ...route,
        schema: { ...SCHEMAS[operation], security: toSecurity(route) },
        handler: async () => undefined,
      });
    done();
  });
  await app.register(swaggerUi, PAGE);
  await app.ready();
  return app;
};

/** Of the service at /docs: without Swagger's bar and names. The page is Swagger UI's own. */
const PAGE: FastifySwaggerUiOptions = {
  routePrefix: '/docs',
  theme: { title: 'Recourse API', favicon: [] },
  uiConfig: { layout: 'BaseLayout' },
};

// One document for every deployment: a client that is made from it on a machine without keys can show one elsewhere.
const toOpenapi = (version: string) => ({
  openapi: '3.1.0',
  info: {
    title: 'Recourse',
    version,
    summary: 'Executes tools for LLM agents.',
    description: `Every call comes back as a result the model can read and act on.

Callers show an API key or a token as \`Authorization: Bearer …\`, or an API key as \`X-API-Key\`. A service without keys
ignores both. What the service refuses is answered as \`application/problem+json\` (RFC
9457); what comes of a call is in its result.`,
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'The service that this document comes from.' }],
  tags: TAGS,
  components: { ...DOCUMENT_COMPONENTS, securitySchemes: SECURITY_SCHEMES },
});

const TAGS = [
  { name: 'tool calls', description: 'Execute the calls of a model, and fetch results whose answer was lost.' },
  { name: 'tools', description: 'What can be called, for people and in the forms that providers take.' },
  {
    name: 'sessions',
    description: 'What the service remembers of an agent run: budgets, calls, and what came of them.',
  },
  { name: 'operations', description: 'Health and metrics, for those who run the service; without a key.' },
];

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, or a JSON Web Token of the issuer that the service trusts.',
  },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key.' },
} as const;

// Either will do. The rule is the one of the door itself.
const KEY = [{ bearer: [] }, { apiKey: [] }];
const toSecurity = ({ method, url }: Pick<DocumentedRoute, 'method' | 'url'>) =>
  doorOf(String(method), url) === 'open' ? [] : KEY;
