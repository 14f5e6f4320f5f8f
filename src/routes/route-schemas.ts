import * as z from 'zod';
import { Problem } from '../contract/problem.ts';
import { draining, foreignOrigin, rateLimited, unauthorized } from './access-problems.ts';
import { type ProblemError, toHttpFailure } from './problem-handler.ts';

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

const ID = '01M7YS1XNXZX345EQCMYZYC2PQ';

const REQUEST_ID_HEADER = {
  'X-Request-Id': {
    type: 'string',
    description: 'The id of this request: as it was sent, or made by the service.',
    examples: [ID],
  },
} as const;

/** The headers that some problems have, by the names they are set under. */
const PROBLEM_HEADERS: ReadonlyMap<string, Readonly<Record<string, object>>> = new Map([
  [
    'retry-after',
    {
      'Retry-After': {
        type: 'integer',
        minimum: 1,
        description: 'Seconds until it is worth trying again.',
        examples: [1],
      },
    },
  ],
  ['www-authenticate', { 'WWW-Authenticate': { type: 'string', description: 'The scheme that is asked for.' } }],
]);

/** What the document shows beside a schema: one example, or several by name. */
type Shown = { readonly example?: unknown; readonly examples?: Readonly<Record<string, Example>> };
type Example = { readonly summary: string; readonly value: unknown };

/** An answer with this body, and what the document shows of it. */
export const ok = (schema: z.ZodType, description: string, shown: Shown) => ({
  description,
  headers: REQUEST_ID_HEADER,
  content: { 'application/json': { schema: toSchema(schema, 'output'), ...shown } },
});

/** An answer of 204. */
export const done = (description: string) => ({ type: 'null', description, headers: REQUEST_ID_HEADER });

/** An answer that is a problem: `error` as its route throws it, or the status by which the framework refuses. */
export const problem = (description: string, error: ProblemError | number) => {
  const { problem: example, headers } = toHttpFailure(typeof error === 'number' ? { statusCode: error } : error, ID);
  return toProblemAnswer(description, example, Object.keys(headers));
};

const toProblemAnswer = (description: string, example: Problem, headers: readonly string[]) => ({
  description,
  headers: Object.assign({}, REQUEST_ID_HEADER, ...headers.map((name) => PROBLEM_HEADERS.get(name))),
  content: { 'application/problem+json': { schema: toSchema(Problem, 'output'), example } },
});

/** What any request may be answered before its route looks at it, and where the service has a bug. */
const DOOR = {
  400: problem('The request is malformed.', 400),
  403: problem('The origin may not call.', foreignOrigin()),
  408: problem('The request did not arrive in time.', 408),
  417: problem('It expects something other than 100-continue.', 417),
  431: problem('The headers are too large.', 431),
  500: problem('The service failed: a bug of its own, which is logged under the id of the request.', 500),
} as const;

/** The same where callers show who they are. */
export const PROBLEMS = {
  ...DOOR,
  401: problem('No key, or a wrong one.', unauthorized()),
  403: problem('The origin may not call, or the key may not do this.', foreignOrigin()),
  429: problem('This caller has sent too many requests.', rateLimited(12_000)),
  503: problem('The service is stopping, or cannot check the token now.', draining('other')),
} as const;

/** Where the path holds what the caller chose. */
export const TOO_LONG = problem('The path is too long.', 414);

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

const METRICS_EXAMPLE = `# HELP recourse_contract_violations_total Bugs of the service caught by its last-resort net. Must stay 0.
# TYPE recourse_contract_violations_total counter
recourse_contract_violations_total 0
`;

const LIVE_EXAMPLE = { status: 'live' };

export const LIVE_SCHEMA = {
  operationId: 'live',
  summary: 'Whether the process answers',
  description: 'For liveness probes: 200 as long as the process answers, also while it is draining. Needs no key.',
  tags: ['operations'],
  response: { 200: ok(Live, 'It does.', { example: LIVE_EXAMPLE }), ...DOOR },
};

const READY_EXAMPLE: Ready = {
  status: 'ready',
  store: { mode: 'memory', status: 'up' },
  tools: 12,
  upstreams: [{ name: 'tickets', status: 'up', reason: null, tools: 6 }],
};

export const READY_SCHEMA = {
  operationId: 'ready',
  summary: 'Whether calls should be sent here',
  description:
    'For readiness probes and load balancers: 503 while the service is draining. Needs no key; the reasons why an upstream is down are shown to a caller with a key alone.',
  tags: ['operations'],
  response: {
    200: ok(Ready, '`ready`, or `degraded` while Redis is away.', { example: READY_EXAMPLE }),
    ...DOOR,
    503: ok(Ready, 'Draining.', { example: { ...READY_EXAMPLE, status: 'draining' } }),
  },
};

export const METRICS_SCHEMA = {
  operationId: 'metrics',
  summary: 'Prometheus metrics',
  description: 'Every metric of docs/metrics.md, for a Prometheus server to scrape. Needs no key.',
  tags: ['operations'],
  response: {
    200: {
      description: 'Text format 0.0.4.',
      headers: REQUEST_ID_HEADER,
      content: { 'text/plain': { schema: { type: 'string' }, example: METRICS_EXAMPLE } },
    },
    ...DOOR,
  },
};

/** What the references of the schemas above point to. */
export const DOCUMENT_COMPONENTS = { schemas: COMPONENTS };
