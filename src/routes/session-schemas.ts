import { SessionView } from '../contract/session.ts';
import { ToolCallsResponse } from '../contract/tool-result.ts';
import { createNotKeptProblem } from './kept-results.ts';
import { done, ok, PROBLEMS, problem, TOO_LONG } from './route-schemas.ts';
import { KEPT_RESULTS_EXAMPLE, SESSION_EXAMPLE } from './session-examples.ts';
import { createSessionIdProblem, createStoreProblem, createToolNameProblem } from './sessions.ts';

const SESSION_ID = {
  type: 'string',
  minLength: 1,
  maxLength: 256,
  description: 'The session as its batches name it, percent-encoded: `team/7` is `team%2F7`.',
  examples: ['agent_7'],
};
const TOOL_NAME = {
  type: 'string',
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  description: 'The name of a tool; `_unknown` for all names that no tool has.',
  examples: ['read_file'],
};

// A body is not needed, and not read; but what announces one must be a media type.
const NO_MEDIA_TYPE = problem('Content-Type is there and is no media type.', 415);

const ofSession = { type: 'object', properties: { id: SESSION_ID }, required: ['id'] };
const DONE = done('Done, also where there was nothing to do.');
const REFUSALS = {
  ...PROBLEMS,
  400: problem('The session id is empty or longer than 256 characters.', createSessionIdProblem()),
  414: TOO_LONG,
  503: problem(
    'The store cannot be asked now, or the token not be checked, or the service is stopping.',
    createStoreProblem(),
  ),
} as const;

export const GET_SESSION_SCHEMA = {
  operationId: 'getSession',
  summary: 'What the service knows of a session',
  description:
    "Budgets, streaks, limits, the last calls with their late results, and what each reducer makes of them. A session never seen is empty, not an error. Sessions belong to the caller's tenant.",
  tags: ['sessions'],
  params: ofSession,
  response: { 200: ok(SessionView, 'The session.', { example: SESSION_EXAMPLE }), ...REFUSALS },
};

export const END_SESSION_SCHEMA = {
  operationId: 'endSession',
  summary: 'Forget a session',
  description: 'Budgets, limits, streaks and journal. What still runs in it is answered, and settles nowhere.',
  tags: ['sessions'],
  params: ofSession,
  response: { 204: DONE, ...REFUSALS, 415: NO_MEDIA_TYPE },
};

export const RESET_BUDGETS_SCHEMA = {
  operationId: 'resetBudgets',
  summary: 'Unblock all tools of a session',
  description:
    'Every tool gets its retries back and the session all of its own; failure streaks end. Calls and rounds stay counted, and the journal stays.',
  tags: ['sessions'],
  params: ofSession,
  response: { 204: DONE, ...REFUSALS, 415: NO_MEDIA_TYPE },
};

export const RESET_TOOL_SCHEMA = {
  operationId: 'resetToolBudget',
  summary: 'Unblock one tool of a session',
  description: 'The tool gets its retries back, the session what the tool held of its own; its failure streaks end.',
  tags: ['sessions'],
  params: { type: 'object', properties: { id: SESSION_ID, tool: TOOL_NAME }, required: ['id', 'tool'] },
  response: {
    204: DONE,
    ...REFUSALS,
    400: problem('No session id, or no name that a tool can have.', createToolNameProblem()),
    415: NO_MEDIA_TYPE,
  },
};

export const GET_RESULTS_SCHEMA = {
  operationId: 'getToolCallResults',
  summary: 'The results of a batch whose answer was lost',
  description:
    'Kept for batches that came with an Idempotency-Key, under the `X-Request-Id` they were sent or answered with. `session_id` is null: it is stored nowhere.',
  tags: ['tool calls'],
  params: {
    type: 'object',
    properties: {
      request_id: { type: 'string', description: 'As in `X-Request-Id`.', examples: [KEPT_RESULTS_EXAMPLE.request_id] },
    },
    required: ['request_id'],
  },
  response: {
    200: ok(ToolCallsResponse, 'One result per call, as they were answered.', { example: KEPT_RESULTS_EXAMPLE }),
    ...PROBLEMS,
    404: problem('Nothing is kept under this request id.', createNotKeptProblem()),
    414: TOO_LONG,
    503: REFUSALS[503],
  },
};
