import * as z from 'zod';
import { Problem } from '../contract/problem.ts';

/** The schemas that the document names once, under `components`; filled by the conversions below. */
const COMPONENTS: Record<string, object> = {};

// For the document only: nothing is validated or serialised with these (a response schema turns one NaN into a 500).
export const toSchema = (schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> => {
  const converted = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  const { $schema: _dialect, $defs = {}, ...rest } = toComponentReferences(converted);
  for (const [name, component] of Object.entries($defs)) COMPONENTS[name] = withoutId(component);
  return withoutId(rest);
};

const toComponentReferences = (schema: object): { readonly [member: string]: unknown; readonly $defs?: object } =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));

const withoutId = (schema: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(schema).filter(([member]) => member !== 'id'));

/** An answer of 200 with this body; `example` as the document shows it. */
export const ok = (schema: z.ZodType, description: string, example?: unknown) => ({
  description,
  content: {
    'application/json': { schema: toSchema(schema, 'output'), ...(example === undefined ? {} : { example }) },
  },
});

/** An answer that is a problem. */
export const problem = (description: string, example?: Problem) => ({
  description,
  content: {
    'application/problem+json': { schema: toSchema(Problem, 'output'), ...(example === undefined ? {} : { example }) },
  },
});

/** What any request may be answered before anybody looks at what it asks for. */
const DOOR = {
  400: problem('The request is malformed.'),
  403: problem('The origin may not call.'),
  408: problem('The request did not arrive in time.'),
  417: problem('It expects something other than 100-continue.'),
  431: problem('The headers are too large.'),
} as const;

/** The same where callers show who they are. */
export const PROBLEMS = {
  ...DOOR,
  401: problem('No key, or a wrong one.'),
  403: problem('The origin may not call, or the key may not do this.'),
  429: problem('This caller has sent too many requests; see Retry-After.'),
  503: problem('The service is stopping, or cannot check the token now; see Retry-After.'),
} as const;

/** Where the path holds what the caller chose. */
export const TOO_LONG = problem('The path is too long.');

const Live = z.object({ status: z.literal('live') });
const Ready = z.object({
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
          .describe('One line for people where it is not `up`, for who shows a key, or asks on OPS_PORT; else null.'),
        tools: z.int(),
      }),
    )
    .describe('Where tools come from elsewhere. One that is down does not make the service less ready.'),
});
export type Ready = z.infer<typeof Ready>;

export const LIVE_SCHEMA = {
  operationId: 'live',
  summary: 'Whether the process answers',
  tags: ['operations'],
  response: { 200: ok(Live, 'It does.'), ...DOOR },
};

export const READY_SCHEMA = {
  operationId: 'ready',
  summary: 'Whether calls should be sent here',
  tags: ['operations'],
  response: { 200: ok(Ready, '`ready`, or `degraded` while Redis is away.'), ...DOOR, 503: ok(Ready, 'Draining.') },
};

export const METRICS_SCHEMA = {
  operationId: 'metrics',
  summary: 'Prometheus metrics',
  tags: ['operations'],
  response: {
    200: { description: 'Text format 0.0.4.', content: { 'text/plain': { schema: { type: 'string' } } } },
    ...DOOR,
  },
};

/** What the references of the schemas above point to. */
export const DOCUMENT_COMPONENTS = { schemas: COMPONENTS };
