import {
  FailedCall,
  FailedCallPage,
  PendingItem,
  PendingPage,
  SearchResult,
  SessionPage,
} from '@recourse/oncall/contract/contract';
import { NOT_LISTED } from '@recourse/oncall/lists/list-routes';
import type * as z from 'zod';
import { FAILURE_CODES, FAULTS } from '../../src/contract/failure.ts';
import { ProblemError } from '../../src/routes/problems.ts';
import { ok, PROBLEMS, problem, TOO_LONG } from './answer-schemas.ts';

// What the OpenAPI document says of lists for people on call.

const SESSION = '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae';
const SESSION_EXAMPLE = {
  session: SESSION,
  id: null,
  state: 'blocked',
  blocked_tools: ['lookup'],
  first_at: '2026-11-30T03:00:00.000Z',
  last_at: '2026-11-30T03:02:10.000Z',
  calls: 6,
  failures: 5,
  last_failure: { tool: 'lookup', code: 'timeout', message: 'Timed out after 5 s.', at: '2026-11-30T03:02:10.000Z' },
  replica: 'pod-7f9c:1',
} as const;
const CALL_EXAMPLE = {
  reference: '01M7YS1XNXZX345EQCMYZYC2PR',
  request_id: '01M7YS1XNXZX345EQCMYZYC2PQ',
  index: 0,
  id: 'call_1',
  session: SESSION,
  tool: 'lookup',
  name: 'lookup',
  code: 'timeout',
  fault: 'tool',
  outcome: 'retry',
  executed: 'maybe',
  at: '2026-11-30T03:02:10.000Z',
  duration_ms: 5002.1,
  message: 'Timed out after 5 s.',
  trace_id: null,
  key: 'ci',
  replica: 'pod-7f9c:1',
} as const satisfies z.infer<typeof FailedCall>;
const PENDING_EXAMPLE = {
  call: 'c_0123456789abcdefghijkl',
  request_id: 'lost-answer-0001',
  index: 0,
  tool: 'read_file',
  state: 'queued',
  lane: 'default',
  since: '2026-11-28T03:00:00.000Z',
  expires_at: '2026-11-28T04:00:00.000Z',
  session: null,
  key: 'ci',
  key_hash: '1a2b3c4d',
} as const satisfies z.infer<typeof PendingItem>;

const STORE_AWAY = problem(
  'The store is unavailable, the token cannot be verified now, or the service is stopping.',
  new ProblemError(503, 'store_unavailable', 'The session store is unavailable. Try again.'),
);
const BAD_QUERY = problem(
  'A parameter is not valid or not known.',
  new ProblemError(400, 'invalid_query', 'limit: must be from 1 to 200'),
);
const text = (description: string, example: string) => ({
  type: 'string',
  minLength: 1,
  maxLength: 256,
  description,
  examples: [example],
});
const TOOL = {
  type: 'string',
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  description: 'Calls of one tool.',
  examples: ['lookup'],
};
const toPaging = (most: number, usual: number) => ({
  cursor: {
    type: 'string',
    maxLength: 400,
    description: '`next_cursor` of the page before. Items that come in meanwhile move none.',
    examples: ['MTc2NDQ3MTczMDAwMDphMWIyLTE'],
  },
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: most,
    description: `How many are listed. Default ${usual}.`,
    examples: [10],
  },
});
const list = (
  operation: { readonly operationId: string; readonly summary: string; readonly description: string },
  tag: string,
  properties: object,
  answer: object,
  required: readonly string[] = [],
) => ({
  ...operation,
  tags: [tag],
  querystring: { type: 'object', properties, required: [...required] },
  response: { 200: answer, ...PROBLEMS, 400: BAD_QUERY, 414: TOO_LONG, 503: STORE_AWAY },
});

export const LIST_SESSIONS_SCHEMA = list(
  {
    operationId: 'listSessions',
    summary: 'List the latest sessions of a tenant',
    description:
      'Sessions of the last 24 hours, the latest first: the last 1,000 that have failed, and the last 1,000 others. A session is named by the SHA-256 of its id; a tool that the key may not use is not told of.',
  },
  'sessions',
  {
    state: {
      type: 'string',
      enum: ['failing', 'blocked', 'recent'],
      description:
        '`failing`: a call of its last batch failed. `blocked`: a tool may not be called any more. Default `recent`: all.',
      examples: ['blocked'],
    },
    q: text(
      'The id of a session, the first 8 or more hex digits of its hash, or part of an id that is kept.',
      '2c26b46b',
    ),
    ...toPaging(200, 50),
  },
  ok(SessionPage, 'The sessions.', { example: { items: [SESSION_EXAMPLE], next_cursor: null } }),
);

export const LIST_CALLS_SCHEMA = list(
  {
    operationId: 'listFailedCalls',
    summary: 'List the latest failed calls of a tenant',
    description: 'The last 1,000 of 24 hours, of the tools that the key may use, the latest first. Never arguments.',
  },
  'tool calls',
  {
    tool: TOOL,
    code: { type: 'string', enum: [...FAILURE_CODES], description: 'Failures of one code.', examples: ['timeout'] },
    fault: { type: 'string', enum: [...FAULTS], description: 'Failures of one fault.', examples: ['tool'] },
    session: {
      type: 'string',
      pattern: '^~?[0-9a-fA-F]{8,64}$',
      description: 'Of one session: the first 8 or more hex digits of the SHA-256 of its id.',
      examples: ['2c26b46b'],
    },
    request_id: text('Of one request.', '01M7YS1XNXZX345EQCMYZYC2PQ'),
    since: { type: 'string', format: 'date-time', description: 'From then on.', examples: ['2026-11-30T03:00:00Z'] },
    ...toPaging(200, 50),
  },
  ok(FailedCallPage, 'The failures.', { example: { items: [CALL_EXAMPLE], next_cursor: null } }),
);

export const GET_CALL_SCHEMA = {
  operationId: 'getFailedCall',
  summary: 'Show the failed call of a reference',
  description:
    'By the reference of its result and of the log. Equal failures that the log has once have one reference: the latest of them, or that of `request_id` and `index`.',
  tags: ['tool calls'],
  params: {
    type: 'object',
    properties: { reference: { type: 'string', description: 'As in the result.', examples: [CALL_EXAMPLE.reference] } },
    required: ['reference'],
  },
  querystring: {
    type: 'object',
    properties: {
      request_id: text('Of one request.', '01M7YS1XNXZX345EQCMYZYC2PQ'),
      index: { type: 'integer', minimum: 0, description: 'The place of the call in its batch.', examples: [0] },
    },
  },
  response: {
    200: ok(FailedCall, 'The failure.', { example: CALL_EXAMPLE }),
    ...PROBLEMS,
    400: BAD_QUERY,
    404: problem('No such failure is listed.', new ProblemError(404, 'call_not_listed', NOT_LISTED)),
    414: TOO_LONG,
    503: STORE_AWAY,
  },
};

export const SEARCH_SCHEMA = {
  ...list(
    {
      operationId: 'search',
      summary: 'Find what has an id',
      description:
        'A request id, the reference of a failure, a session id, its hash or the first 8 or more digits of that, or the handle of a pending call.',
    },
    'tool calls',
    { q: { ...text('What to find.', '2c26b46b'), pattern: '\\S' } },
    ok(SearchResult, 'What was found; may be empty.', {
      example: { found: [{ kind: 'session', session: SESSION, state: 'blocked' }] },
    }),
    ['q'],
  ),
};

export const LIST_PENDING_SCHEMA = list(
  {
    operationId: 'listPendingCalls',
    summary: 'List the pending calls of a tenant',
    description:
      "Calls of the caller's tenant that have not ended, of the tools that its key may use, the latest first; anonymous callers see those of their address. For operators: what a key still has queued.",
  },
  'tool calls',
  {
    key: {
      type: 'string',
      pattern: '^[0-9a-fA-F]{8,64}$',
      description:
        'Calls of one API key: the first 8 or more hex digits of its SHA-256, as its line in API_KEYS_FILE has it.',
      examples: ['1a2b3c4d'],
    },
    tool: TOOL,
    state: {
      type: 'string',
      enum: ['queued', 'waiting_for_approval', 'running'],
      description: 'Calls of one state.',
      examples: ['running'],
    },
    ...toPaging(1000, 50),
  },
  ok(PendingPage, 'The calls.', { example: { items: [PENDING_EXAMPLE], next_cursor: null } }),
);

export const GET_PENDING_SCHEMA = {
  operationId: 'getPendingCall',
  summary: 'Show a pending call',
  description: 'One of the list of pending calls, by its handle.',
  tags: ['tool calls'],
  params: {
    type: 'object',
    properties: { call: { type: 'string', description: 'The handle.', examples: [PENDING_EXAMPLE.call] } },
    required: ['call'],
  },
  response: {
    200: ok(PendingItem, 'The call.', { example: PENDING_EXAMPLE }),
    ...PROBLEMS,
    404: problem(
      'No call of this handle is pending.',
      new ProblemError(404, 'call_not_pending', 'No call of this handle is pending: it has ended, or never was.'),
    ),
    414: TOO_LONG,
    503: STORE_AWAY,
  },
};
