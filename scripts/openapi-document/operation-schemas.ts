import * as z from 'zod';
import { CATALOGUE_FORMATS } from '../../src/contract/message-format.ts';
import { SessionView } from '../../src/contract/session.ts';
import { type JsonSchema, ToolCatalogue, ToolDescription } from '../../src/contract/tool-description.ts';
import { ToolCallsResponse } from '../../src/contract/tool-result.ts';
import { Ready } from '../../src/routes/health.ts';
import { createNotStoredProblem, createStoreProblem, overloaded, ProblemError } from '../../src/routes/problems.ts';
import { createSessionHashProblem, createSessionIdProblem, createToolNameProblem } from '../../src/routes/sessions.ts';
import { createKeyInFlightProblem, createReusedKeyProblem } from '../../src/routes/tool-calls.ts';
import { createNoToolProblem } from '../../src/routes/tools.ts';
import {
  DOOR,
  done,
  ok,
  PROBLEMS,
  problem,
  REQUEST_ID,
  REQUEST_ID_HEADER,
  TOO_LONG,
  toSchema,
} from './answer-schemas.ts';
import { APPROVAL_SCHEMA, DECIDE_SCHEMA, LIST_APPROVALS_SCHEMA, WITHDRAW_SCHEMA } from './approval-operations.ts';
import { ANSWER_EXAMPLES, REFUSED_ENVELOPE, REQUEST_EXAMPLES, readExample } from './call-examples.ts';
import {
  GET_CALL_SCHEMA,
  GET_PENDING_SCHEMA,
  LIST_CALLS_SCHEMA,
  LIST_PENDING_SCHEMA,
  LIST_SESSIONS_SCHEMA,
  SEARCH_SCHEMA,
} from './list-operations.ts';
import { OVERVIEW_SCHEMA } from './overview-operations.ts';
import { TOOL_REPORTS_SCHEMA } from './report-operations.ts';
import { STREAM_CONTENT } from './stream-schemas.ts';
import { LateAnswer, LateQuery, TurnAnswer, TurnBody, TurnQuery } from './turn-schemas.ts';
import { LIST_UNKNOWN_SCHEMA, RECONCILE_SCHEMA } from './unknown-operations.ts';

// What the OpenAPI document says of each operation. Nothing is validated or serialised with it.

const toTextSchema = (text: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: { text },
  required: ['text'],
  additionalProperties: false,
});

/** What GET /tools/echo answers, as the document shows it. */
const TOOL_EXAMPLE: ToolDescription = {
  name: 'echo',
  description: 'Returns the given text unchanged. Use it to check that tool calls work.',
  effects: 'read',
  input_schema: toTextSchema({ type: 'string', description: 'Any text.' }),
  output_schema: toTextSchema({ type: 'string' }),
  limits: { timeout_ms: 30_000, retries: 3, concurrency: 512, max_calls_per_session: null },
  available: true,
  unavailable_reason: null,
  source: 'builtin',
};

const CatalogueQuery = z.object({
  format: z
    .enum(CATALOGUE_FORMATS)
    .optional()
    .describe(
      'The format of the tools; default `native`. A provider format omits tools that are disabled or that the provider would refuse, includes tools that are only unreachable now, uses names that the provider accepts, and fits the `tools` member of a request to it.',
    )
    .meta({ examples: ['openai-responses'] }),
  strict: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      'OpenAI and Anthropic: sets `strict` for each schema that the strict subset can express. Otherwise `strict` is off.',
    )
    .meta({ examples: ['true'] }),
});

const ListQuery = CatalogueQuery.extend({
  names: z
    .string()
    .regex(/^([A-Za-z0-9_.-]{1,64}\*?|\*)(\|([A-Za-z0-9_.-]{1,64}\*?|\*))*$/)
    .optional()
    .describe(
      'Only these tools: names and prefixes that end with `*`, separated by `|` (`crm_*|search`). Unknown names are ignored.',
    )
    .meta({ examples: ['echo|read_*'] }),
});

const ENTITY_TAG = '"mR1IbeAqOqFnfCpAsVbGSAbBSCTYc5TFEmfSFsrFEKo"';

const IfNoneMatch = z.object({
  'if-none-match': z
    .string()
    .regex(/^[!-~ ]*$/)
    .optional()
    .describe('Entity tags that the caller has: answered 304 if one is still current.')
    .meta({ examples: [ENTITY_TAG] }),
});

const ProviderTools = z
  .object({
    tools: z.array(z.looseObject({})),
    left_out: z
      .array(z.object({ name: z.string(), reason: z.string() }))
      .optional()
      .describe('Tools omitted because the provider would refuse the whole request for them.'),
  })
  .meta({ id: 'ProviderTools', description: 'The value for the `tools` member of a request to the provider.' });

const CACHE_HEADERS = {
  ETag: { type: 'string', description: 'A strong tag of the body.', examples: [ENTITY_TAG] },
  'Cache-Control': {
    type: 'string',
    description: '`private, no-cache`: store the answer, and revalidate it before each use.',
  },
};
const UNCHANGED = { description: 'Unchanged since the tag the caller sent. No body.', headers: CACHE_HEADERS };

const catalogueAnswer = (native: z.ZodType, description: string, example: unknown) => {
  const { headers, ...rest } = ok(z.union([native, ProviderTools]), description, { example });
  return { ...rest, headers: { ...headers, ...CACHE_HEADERS } };
};

const CATALOGUE_TOOL_NAME = { type: 'string', description: 'The name of the tool.', examples: [TOOL_EXAMPLE.name] };

const CATALOGUE = {
  tags: ['tools'],
  headers: toSchema(IfNoneMatch, 'input'),
};

const LIST_TOOLS_SCHEMA = {
  operationId: 'listTools',
  summary: 'The tools this caller may use, for people or for a provider',
  description:
    'Each tool with its schemas, its limits and whether it is available now. With `format`, in the form of the `tools` member of a request to that provider.',
  ...CATALOGUE,
  querystring: toSchema(ListQuery, 'input'),
  response: {
    200: catalogueAnswer(ToolCatalogue, 'The catalogue, by name.', { tools: [TOOL_EXAMPLE] }),
    304: UNCHANGED,
    ...PROBLEMS,
    400: problem('An unknown format, invalid names, or a malformed request.', 400),
  },
};

const GET_TOOL_SCHEMA = {
  operationId: 'getTool',
  summary: 'One tool, for people or for a provider',
  description:
    'As GET /tools shows it. With `format`, in the form of the `tools` member of a request to that provider.',
  ...CATALOGUE,
  querystring: toSchema(CatalogueQuery, 'input'),
  params: { type: 'object', properties: { name: CATALOGUE_TOOL_NAME }, required: ['name'] },
  response: {
    200: catalogueAnswer(ToolDescription, 'The tool.', TOOL_EXAMPLE),
    304: UNCHANGED,
    ...PROBLEMS,
    400: problem('An unknown format, or a malformed request.', 400),
    404: problem(
      'There is no tool of that name, this caller may not use it, or it is not available for a provider.',
      createNoToolProblem(),
    ),
    414: TOO_LONG,
  },
};

const SESSION_ID = {
  type: 'string',
  minLength: 1,
  maxLength: 256,
  description:
    'The session id that its batches send, percent-encoded: `team/7` is `team%2F7`. Or `~` and the SHA-256 of that id, 64 hex digits, or of one of the latest sessions the first 8 or more.',
  examples: ['agent_7'],
};
const TOOL_NAME = {
  type: 'string',
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  description: 'The name of a tool; `_unknown` for all names that no tool has.',
  examples: ['read_file'],
};

// A body is not needed, and not read; but what announces one must be a media type.
const NO_MEDIA_TYPE = problem('Content-Type is present but is not a media type.', 415);

const ofSession = { type: 'object', properties: { id: SESSION_ID }, required: ['id'] };
const DONE = done('Done, even if there was nothing to do.');
const REFUSALS = {
  ...PROBLEMS,
  400: problem('The session id is empty or longer than 256 characters.', createSessionIdProblem()),
  414: TOO_LONG,
  503: problem(
    'The session store is unavailable, the token cannot be verified now, or the service is stopping.',
    createStoreProblem(),
  ),
} as const;

const OF_HASH = {
  404: problem('None of the latest sessions has a hash that begins so.', createSessionHashProblem(0)),
  409: problem('Several of the latest sessions have a hash that begins so.', createSessionHashProblem(2)),
} as const;

const GET_SESSION_SCHEMA = {
  operationId: 'getSession',
  summary: 'Show the state of a session',
  description:
    "Budgets, streaks, limits, the last calls with their late results, and the result of each reducer. An unknown session is empty, not an error. Sessions belong to the caller's tenant.",
  tags: ['sessions'],
  params: ofSession,
  response: { 200: ok(SessionView, 'The session.', { example: readExample('session') }), ...REFUSALS, ...OF_HASH },
};

const END_SESSION_SCHEMA = {
  operationId: 'endSession',
  summary: 'Forget a session',
  description: 'Deletes budgets, limits, streaks and journal. Calls still running are answered, but no longer counted.',
  tags: ['sessions'],
  params: ofSession,
  response: { 204: DONE, ...REFUSALS, ...OF_HASH, 415: NO_MEDIA_TYPE },
};

const RESET_BUDGETS_SCHEMA = {
  operationId: 'resetBudgets',
  summary: 'Unblock all tools of a session',
  description:
    'Restores the retries of every tool and of the session, and ends failure streaks. Call and round counts and the journal are kept.',
  tags: ['sessions'],
  params: ofSession,
  response: { 204: DONE, ...REFUSALS, ...OF_HASH, 415: NO_MEDIA_TYPE },
};

const RESET_TOOL_SCHEMA = {
  operationId: 'resetToolBudget',
  summary: 'Unblock one tool of a session',
  description: 'Restores the retries of the tool, and those it had used of the session; ends its failure streaks.',
  tags: ['sessions'],
  params: { type: 'object', properties: { id: SESSION_ID, tool: TOOL_NAME }, required: ['id', 'tool'] },
  response: {
    204: DONE,
    ...REFUSALS,
    ...OF_HASH,
    400: problem('An invalid session id or tool name.', createToolNameProblem()),
    415: NO_MEDIA_TYPE,
  },
};

const BATCH_ID = { type: 'string', description: 'As in `X-Request-Id`.', examples: ['lost-answer-0001'] };
const CALL_INDEX = {
  type: 'integer',
  minimum: 0,
  maximum: 1023,
  description: 'The place of the call in its batch.',
  examples: [0],
};

const GET_RESULTS_SCHEMA = {
  operationId: 'getToolCallResults',
  summary: 'The results of a batch whose answer was lost, or whose calls were pending',
  description:
    'Stored for batches with an Idempotency-Key, and for those that prefer an asynchronous answer, under the `X-Request-Id` of the request or its answer. `session_id` is null: it is not stored. With `wait_ms` the answer waits for pending calls; without calls that are pending it comes at once.',
  tags: ['tool calls'],
  params: { type: 'object', properties: { request_id: BATCH_ID }, required: ['request_id'] },
  querystring: toSchema(LateQuery, 'input'),
  headers: toSchema(IfNoneMatch, 'input'),
  response: {
    200: ok(LateAnswer, 'One result per call, exactly as answered; those of pending calls as they ended.', {
      example: readExample('kept-results'),
    }),
    202: ok(LateAnswer, 'Some calls are pending. Ask again after the time in `Retry-After`.', {
      example: readExample('kept-results'),
    }),
    304: UNCHANGED,
    ...PROBLEMS,
    404: problem('No results are stored under this request id.', createNotStoredProblem()),
    414: TOO_LONG,
    503: REFUSALS[503],
  },
};

const EVENTS_SCHEMA = {
  operationId: 'followToolCalls',
  summary: 'Follow the pending calls of a batch as a stream',
  description:
    'First `snapshot`, the body of GET /tool-calls/{request_id} as it is now; then `progress` and one `result` for each call that ends; last `done`. A client that reconnects gets a new snapshot, so that it misses no result.',
  tags: ['tool calls'],
  params: { type: 'object', properties: { request_id: BATCH_ID }, required: ['request_id'] },
  response: {
    200: { description: 'The events.', headers: REQUEST_ID_HEADER, content: STREAM_CONTENT },
    ...PROBLEMS,
    404: problem('No results are stored under this request id.', createNotStoredProblem()),
    414: TOO_LONG,
    503: REFUSALS[503],
  },
};

const CANCEL_SCHEMA = {
  operationId: 'cancelToolCalls',
  summary: 'Cancel the pending calls of a batch',
  description:
    'Calls that have not started end as `cancelled`, executed `no`. A running call that is safe to repeat is aborted. A running write goes on, unless `force` is true: then it is cut off and its outcome is unknown. Repeating the request is harmless.',
  tags: ['tool calls'],
  params: { type: 'object', properties: { request_id: BATCH_ID }, required: ['request_id'] },
  querystring: {
    type: 'object',
    properties: {
      force: {
        type: 'boolean',
        description: 'Also cuts off writes that are running. Default false.',
        examples: [true],
      },
    },
  },
  response: {
    200: ok(ToolCallsResponse, 'Every call has ended.', { example: readExample('kept-results') }),
    202: ok(ToolCallsResponse, 'Some calls are pending: they will end, or are writes that go on.', {
      example: readExample('kept-results'),
    }),
    ...PROBLEMS,
    404: problem('No results are stored under this request id.', createNotStoredProblem()),
    414: TOO_LONG,
    415: NO_MEDIA_TYPE,
    503: REFUSALS[503],
  },
};

const CANCEL_CALL_SCHEMA = {
  ...CANCEL_SCHEMA,
  operationId: 'cancelToolCall',
  summary: 'Cancel one pending call of a batch',
  params: {
    type: 'object',
    properties: { request_id: BATCH_ID, index: CALL_INDEX },
    required: ['request_id', 'index'],
  },
};

const NO_FILTER_PROBLEM = problem(
  'A parameter is not valid or not known, or no filter is named.',
  new ProblemError(400, 'invalid_query', 'query: name the calls by key= or tool='),
);
const FILTER = {
  key: {
    type: 'string',
    pattern: '^[0-9a-fA-F]{8,64}$',
    description:
      'Calls of one API key: the first 8 or more hex digits of its SHA-256, as its line in API_KEYS_FILE has it.',
    examples: ['1a2b3c4d'],
  },
  tool: { ...TOOL_NAME, description: 'Calls of one tool.' },
};
const CancelCounts = z.object({
  cancelled: z.int().min(0).describe('Calls that had not begun: none of them begins any more.'),
  running: z.int().min(0).describe('Calls that run: safe ones are aborted, writes go on unless `force` is true.'),
});

const CANCEL_PENDING_SCHEMA = {
  operationId: 'cancelPendingCalls',
  summary: 'Cancel the pending calls of a key or a tool',
  description:
    'As cancelling each of them. At least one of `key` and `tool` is required; with both, calls that fit both.',
  tags: ['tool calls'],
  querystring: { type: 'object', properties: { ...FILTER, ...CANCEL_SCHEMA.querystring.properties } },
  response: {
    202: ok(CancelCounts, 'How many calls that concerns. Their results follow.', {
      example: { cancelled: 12, running: 1 },
    }),
    ...PROBLEMS,
    400: NO_FILTER_PROBLEM,
    414: TOO_LONG,
    415: NO_MEDIA_TYPE,
    503: REFUSALS[503],
  },
};

const Live = z.object({ status: z.literal('live') });
const METRICS_EXAMPLE = `# HELP recourse_contract_violations_total Internal errors caught by the last-resort handler (bugs). Must stay 0.
# TYPE recourse_contract_violations_total counter
recourse_contract_violations_total 0
`;

const LIVE_EXAMPLE = { status: 'live' };

const LIVE_SCHEMA = {
  operationId: 'live',
  summary: 'Whether the process answers',
  description: 'For liveness probes: 200 while the process answers, including while it drains. Needs no key.',
  tags: ['operations'],
  response: { 200: ok(Live, 'The process answers.', { example: LIVE_EXAMPLE }), ...DOOR },
};

const READY_EXAMPLE: Ready = {
  status: 'ready',
  store: { kind: 'memory', status: 'up' },
  tools: 12,
  missing: [],
  files: [],
  upstreams: [{ name: 'tickets', status: 'up', reason: null, tools: 6 }],
};

const READY_SCHEMA = {
  operationId: 'ready',
  summary: 'Whether this replica accepts calls',
  description:
    'For readiness probes and load balancers: 503 while the service is draining, and until the tools of TOOLS_REQUIRED have loaded for the first time. Needs no key; which tools are missing, and why an upstream is down or a file does not load, is shown only to callers with a key.',
  tags: ['operations'],
  response: {
    200: ok(Ready, '`ready`; or `degraded` while Redis is unavailable, or tools do not serve as they should.', {
      example: READY_EXAMPLE,
    }),
    ...DOOR,
    503: ok(Ready, 'Draining, or required tools have not loaded.', {
      example: {
        ...READY_EXAMPLE,
        status: 'tools_missing',
        missing: ['pay_'],
        files: [{ file: 'pay/refund.ts', line: 12, message: 'SyntaxError: Unexpected token' }],
      },
    }),
  },
};

const METRICS_SCHEMA = {
  operationId: 'metrics',
  summary: 'Prometheus metrics',
  description: 'All metrics of docs/metrics.md, for Prometheus. Needs no key.',
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

const ToolCallsHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^("[ -~]{1,255}"|[!#-~][ -~]{0,254})$/)
    .optional()
    .describe(
      '1 to 255 printable ASCII characters, bare or quoted. Calls that ran are not run again when the batch is repeated.',
    )
    .meta({ examples: ['order-19'] }),
  prefer: z
    .string()
    .regex(/^[!-~][ -~]{0,254}$/)
    .optional()
    .describe(
      '`respond-async, wait=10` (RFC 7240): calls that have not ended after so many seconds are answered as pending (202) and go on. Without `wait`: background tools at once, others after a second.',
    )
    .meta({ examples: ['respond-async, wait=10'] }),
  'x-request-id': z
    .string()
    .regex(/^[A-Za-z0-9_-]{16,64}$/)
    .optional()
    .describe('An id for this request; generated if absent. Stored results can be fetched under it.')
    .meta({ examples: [REQUEST_ID] }),
});

const ACCEPTED = ok(TurnAnswer, 'Accepted: one result per call, also when every call failed.', {
  examples: ANSWER_EXAMPLES,
});

const TOOL_CALLS_SCHEMA = {
  operationId: 'executeToolCalls',
  summary: 'Execute the tool calls of one model turn',
  description:
    'Every call of an accepted batch gets exactly one result, in its place. The HTTP status says whether the batch was accepted; each result says what happened to its call. Entries of `calls` are validated one by one: a malformed entry gets its own result. The body may be a model message exactly as its provider sent it: the answer then contains the messages to append to the conversation. With `Accept: text/event-stream` or `application/x-ndjson` the answer is a stream: `accepted`, each `result` as its call ends, `progress` and `part` in between, last `done`. Its results and `done` together are the JSON body. What is refused is answered as a problem before the stream begins. With `dry_run` nothing runs, is kept or counted: each result (`ToolChecked`) says what its call would do now.',
  tags: ['tool calls'],
  querystring: toSchema(TurnQuery, 'input'),
  headers: toSchema(ToolCallsHeaders, 'input'),
  body: { ...toSchema(TurnBody, 'input'), 'x-examples': REQUEST_EXAMPLES },
  response: {
    200: {
      ...ACCEPTED,
      content: { ...ACCEPTED.content, ...STREAM_CONTENT },
      headers: {
        ...ACCEPTED.headers,
        'Idempotent-Replayed': { type: 'string', description: '`true` if nothing ran: all results are stored ones.' },
        'Recourse-Warning': {
          type: 'string',
          description: 'With `raw`: the content of `warnings` in other answers. Only if there are warnings.',
        },
      },
    },
    202: {
      ...ACCEPTED,
      description: 'Some calls go on. `Location` names the results, `Retry-After` when to ask for them.',
    },
    ...PROBLEMS,
    400: problem('The body is of no known shape, or its envelope is malformed. Nothing has run.', REFUSED_ENVELOPE),
    409: problem(
      'A batch with this Idempotency-Key or X-Request-Id is still running.',
      createKeyInFlightProblem(3_000, 'Idempotency-Key'),
    ),
    422: problem(
      'This Idempotency-Key, or the X-Request-Id of an asynchronous batch without one, came with a different body before. Nothing has run.',
      createReusedKeyProblem('Idempotency-Key'),
    ),
    413: problem('The body is larger than MAX_BODY_BYTES.', 413),
    415: problem('Not application/json in UTF-8.', 415),
    503: problem(
      'The service is stopping or overloaded, or cannot verify the token now.',
      overloaded({ reason: 'queue', retryAfterSeconds: 2 }),
    ),
  },
};

const RULE_NAME = {
  type: 'string',
  pattern: '^[a-z][a-z0-9_-]{0,63}$',
  description: 'The name of a rule in the configuration file.',
  examples: ['refund_cap'],
};
const NO_RULE = problem(
  'The configuration has no such rule here.',
  new ProblemError(404, 'rule_not_found', 'The configuration has no such rule here.'),
);
const BEGINS_ANEW =
  'What the rule has spent and reserved is forgotten. For operators: a key needs the operation `operate`, which is never implied.';

const RESET_SESSION_RULE_SCHEMA = {
  operationId: 'resetSessionRule',
  summary: 'Have a rule begin anew in a session',
  description: BEGINS_ANEW,
  tags: ['sessions'],
  params: { type: 'object', properties: { id: SESSION_ID, name: RULE_NAME }, required: ['id', 'name'] },
  response: { 204: DONE, ...REFUSALS, 404: NO_RULE, 415: NO_MEDIA_TYPE },
};

const RESET_RULE_SCHEMA = {
  operationId: 'resetRule',
  summary: 'Have a rule begin anew for the tenant or for a key',
  description: `Of a rule by tenant, for the tenant of the caller; of a rule by key, for the key that \`key\` names. ${BEGINS_ANEW}`,
  tags: ['sessions'],
  params: { type: 'object', properties: { name: RULE_NAME }, required: ['name'] },
  querystring: {
    type: 'object',
    properties: {
      key: {
        ...{ type: 'string', minLength: 1, maxLength: 256 },
        description: 'The name of a key of the tenant, for a rule by key.',
        examples: ['agent'],
      },
    },
  },
  response: {
    204: DONE,
    ...REFUSALS,
    400: problem(
      'A parameter is not valid or not known, or no key is named.',
      new ProblemError(400, 'key_required', 'The rule counts by key: name the key.'),
    ),
    404: NO_RULE,
    415: NO_MEDIA_TYPE,
  },
};

const CLOSE_CIRCUIT_SCHEMA = {
  operationId: 'closeCircuit',
  summary: 'Close an open circuit',
  description:
    'The circuits of a tool, or of the upstream whose tools share one, let calls run again in all replicas, within two seconds, and count anew from 0 failures. For operators: a key needs the operation `operate`, which is never implied. GET /overview lists those that are open.',
  tags: ['operations'],
  params: {
    type: 'object',
    properties: {
      name: {
        ...{ type: 'string', description: 'The name of the tool or the upstream, as GET /overview has it.' },
        examples: ['search'],
      },
    },
    required: ['name'],
  },
  response: {
    204: done('Closed.'),
    ...REFUSALS,
    404: problem(
      'No replica has such a circuit open, or the key may use none of its tools.',
      new ProblemError(404, 'circuit_not_found', 'No replica has an open circuit of this name.'),
    ),
    415: NO_MEDIA_TYPE,
  },
};

/** The routes that the document describes, in its order; a test compares them with those of the service. */
export const OPERATIONS = [
  ['POST', '/tool-calls', TOOL_CALLS_SCHEMA],
  ['GET', '/tool-calls/:request_id', GET_RESULTS_SCHEMA],
  ['GET', '/tool-calls/:request_id/events', EVENTS_SCHEMA],
  ['DELETE', '/tool-calls/:request_id', CANCEL_SCHEMA],
  ['DELETE', '/tool-calls/:request_id/calls/:index', CANCEL_CALL_SCHEMA],
  ['POST', '/tool-calls/:request_id/calls/:index/reconcile', RECONCILE_SCHEMA],
  ['GET', '/calls/unknown', LIST_UNKNOWN_SCHEMA],
  ['GET', '/reports/tools', TOOL_REPORTS_SCHEMA],
  ['GET', '/approvals', LIST_APPROVALS_SCHEMA],
  ['GET', '/approvals/:id', APPROVAL_SCHEMA],
  ['POST', '/approvals/:id', DECIDE_SCHEMA],
  ['DELETE', '/approvals/:id', WITHDRAW_SCHEMA],
  ['GET', '/calls', LIST_CALLS_SCHEMA],
  ['GET', '/calls/:reference', GET_CALL_SCHEMA],
  ['GET', '/calls/pending', LIST_PENDING_SCHEMA],
  ['GET', '/calls/pending/:call', GET_PENDING_SCHEMA],
  ['GET', '/search', SEARCH_SCHEMA],
  ['DELETE', '/calls/pending', CANCEL_PENDING_SCHEMA],
  ['GET', '/tools', LIST_TOOLS_SCHEMA],
  ['GET', '/tools/:name', GET_TOOL_SCHEMA],
  ['GET', '/overview', OVERVIEW_SCHEMA],
  ['DELETE', '/circuits/:name', CLOSE_CIRCUIT_SCHEMA],
  ['GET', '/live', LIVE_SCHEMA],
  ['GET', '/ready', READY_SCHEMA],
  ['GET', '/metrics', METRICS_SCHEMA],
  ['GET', '/sessions', LIST_SESSIONS_SCHEMA],
  ['GET', '/sessions/:id', GET_SESSION_SCHEMA],
  ['DELETE', '/sessions/:id', END_SESSION_SCHEMA],
  ['DELETE', '/sessions/:id/budgets', RESET_BUDGETS_SCHEMA],
  ['DELETE', '/sessions/:id/budgets/:tool', RESET_TOOL_SCHEMA],
  ['DELETE', '/sessions/:id/rules/:name', RESET_SESSION_RULE_SCHEMA],
  ['DELETE', '/rules/:name', RESET_RULE_SCHEMA],
] as const;
