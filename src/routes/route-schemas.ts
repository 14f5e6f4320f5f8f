import * as z from 'zod';
import { Problem } from '../contract/problem.ts';
import { ToolCall, ToolCallsRequest } from '../contract/tool-call.ts';
import { ToolCatalogue, ToolDescription } from '../contract/tool-description.ts';
import { ToolCallsResponse } from '../contract/tool-result.ts';

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

const ENVELOPE = z.object({ ...ToolCallsRequest.shape, calls: z.array(ToolCall).max(1024) });

const ToolCallsHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^("[ -~]{1,255}"|[!#-~][ -~]{0,254})$/)
    .optional()
    .describe(
      '1 to 255 printable ASCII characters, bare or quoted: what ran is not run again when the batch is sent again.',
    ),
  'x-request-id': z
    .string()
    .regex(/^[A-Za-z0-9_-]{16,64}$/)
    .optional()
    .describe('An id for this request; made by the service if absent. Kept results can be asked for under it.'),
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

export const TOOL_CALLS_SCHEMA = {
  operationId: 'executeToolCalls',
  summary: 'Execute the tool calls of one model turn',
  description:
    'Every call of an accepted batch gets exactly one result, in its place. HTTP says whether the service could take the batch; each result says what happened to its call. Entries of `calls` are judged one by one: a malformed one gets a result of its own.',
  tags: ['tool calls'],
  headers: toSchema(ToolCallsHeaders, 'input'),
  body: toSchema(ENVELOPE, 'input'),
  response: {
    200: {
      ...ok(ToolCallsResponse, 'Accepted: one result per call, also when every call failed.'),
      headers: {
        'Idempotent-Replayed': { type: 'string', description: '`true` where nothing ran: all results were kept.' },
      },
    },
    ...PROBLEMS,
    400: problem('The envelope is malformed. Nothing has run.'),
    409: problem('A batch with this Idempotency-Key still runs; see Retry-After.'),
    422: problem('This Idempotency-Key came with another body before. Nothing has run.'),
    413: problem('The body is larger than MAX_BODY_BYTES.'),
    415: problem('Not application/json in UTF-8.'),
    503: problem('The service is stopping or overloaded, or cannot check the token now; see Retry-After.'),
  },
};

export const LIST_TOOLS_SCHEMA = {
  operationId: 'listTools',
  summary: 'The tools this caller may use',
  tags: ['tools'],
  response: { 200: ok(ToolCatalogue, 'The catalogue, by name.'), ...PROBLEMS },
};

export const GET_TOOL_SCHEMA = {
  operationId: 'getTool',
  summary: 'One tool',
  tags: ['tools'],
  params: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  response: {
    200: ok(ToolDescription, 'The tool.'),
    ...PROBLEMS,
    404: problem('There is no tool of that name, or this caller may not use it.'),
    414: TOO_LONG,
  },
};

const Live = z.object({ status: z.literal('live') });
const Ready = z.object({
  status: z.enum(['ready', 'degraded', 'draining']),
  store: z.object({ mode: z.enum(['memory', 'redis']), status: z.enum(['up', 'down']) }),
  tools: z.int(),
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
