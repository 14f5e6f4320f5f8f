import swagger from '@fastify/swagger';
import fastify from 'fastify';
import * as z from 'zod';
import { endpointOf } from '../../src/routes/request-gate.ts';
import { COMPONENTS } from './answer-schemas.ts';
import { OPERATIONS } from './operation-schemas.ts';

/** The OpenAPI document of this version of the service. */
export const createOpenapiDocument = async (version: string): Promise<object> => {
  const app = fastify({ logger: false });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (payload) => JSON.stringify(payload));
  await app.register(swagger, {
    openapi: toOpenapi(version),
    transformObject: (made) => withExamplesInSchemas('openapiObject' in made ? made.openapiObject : made.swaggerObject),
  });
  // A plugin, so that swagger, registered before it, sees its routes.
  await app.register((documented, _options, done) => {
    for (const [method, url, schema] of OPERATIONS)
      documented.route({
        method,
        url,
        // Either will do. The rule is the one of the door itself.
        schema: { ...schema, security: endpointOf(method, url) === 'open' ? [] : [{ bearer: [] }, { apiKey: [] }] },
        handler: async () => undefined,
      });
    done();
  });
  await app.ready();
  return app.swagger();
};

const OptionalParameter = z.looseObject({
  in: z.enum(['query', 'header']),
  required: z.literal(false),
  schema: z.looseObject({}),
  example: z.unknown().refine((example) => example !== undefined),
});

/**
 * A document whose optional parameters have their examples in their schemas. Swagger UI fills the example of a parameter in,
 * and would ask for the tools of one provider where a person only wants to see the tools.
 */
const withExamplesInSchemas = <Document extends object>(document: Document): Document =>
  JSON.parse(JSON.stringify(document), (_key, value: unknown) => {
    const parameter = OptionalParameter.safeParse(value).data;
    if (parameter === undefined) return value;
    const { example, schema, ...rest } = parameter;
    return { ...rest, schema: { ...schema, examples: [example] } };
  });

// One document for every deployment: a client that is made from it on a machine without keys can show one elsewhere.
const toOpenapi = (version: string) => ({
  openapi: '3.1.0',
  info: {
    title: 'Recourse',
    version,
    summary: 'Executes tools for LLM agents.',
    description: `Every call comes back as a result the model can read and act on.

Callers send an API key or a token as \`Authorization: Bearer …\`, or an API key as \`X-API-Key\`. A service without keys
ignores both. A refused request is answered as \`application/problem+json\` (RFC
9457); the outcome of each call is in its result.`,
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'The service that serves this document.' }],
  tags: TAGS,
  components: { schemas: COMPONENTS, securitySchemes: SECURITY_SCHEMES },
});

const TAGS = [
  { name: 'tool calls', description: 'Execute the calls of a model, and fetch results whose answer was lost.' },
  { name: 'tools', description: 'The available tools, for people and in the formats of LLM providers.' },
  {
    name: 'sessions',
    description: 'The recorded state of an agent run: budgets, calls and their outcomes.',
  },
  { name: 'operations', description: 'Health and metrics, for operators; without a key.' },
];

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, or a JSON Web Token of the issuer that the service trusts.',
  },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key.' },
} as const;
