import * as z from 'zod';
import { FAILURE_CODES } from '../../src/contract/failure.ts';
import { createNotStoredProblem, operationNotAllowed, ProblemError } from '../../src/routes/problems.ts';
import { ok, PROBLEMS, problem, TOO_LONG, toSchema } from './answer-schemas.ts';

// What the OpenAPI document says of writes whose outcome is unknown.

const UnknownCall = z
  .object({
    request_id: z.string().describe('Of the batch that ran the call.'),
    index: z.int().min(0).describe('The place of the call in its batch.'),
    id: z.union([z.string(), z.number(), z.null()]),
    tool: z.string(),
    effect_id: z.string().describe('What the effect of the call is known by to its tool.'),
    arguments: z
      .string()
      .describe('The beginning of the arguments as JSON text, redacted; "" if the tool is not here now.'),
    state: z
      .enum(['running', 'open', 'settled', 'ended'])
      .describe('`open`: it is looked for. `settled`: it is known how it ended. `ended`: its run has said so itself.'),
    verdict: z.enum(['happened', 'did_not_happen']).nullable(),
    by: z.enum(['tool', 'run', 'person']).nullable().describe('Who found out.'),
    code: z.enum(FAILURE_CODES).nullable().describe('Why nobody knows; null if its process died.'),
    since: z.iso.datetime().nullable().describe('Since when nobody knows.'),
    attempts: z.int().min(0).describe('How often was looked.'),
    next_look_at: z.iso.datetime().nullable(),
    run_may_act_until: z.iso
      .datetime()
      .nullable()
      .describe(
        'Until then the run may still take effect, and that it did not happen is not believed; null: it is over.',
      ),
    fence: z.int().min(0).describe('For `If-Match`: rises with each run and each verdict.'),
  })
  .meta({ id: 'UnknownCall' });
const UnknownList = z.object({
  calls: z.array(UnknownCall).describe('Oldest first.'),
  total: z.int().min(0).describe('How many fit the filter, listed or not.'),
});

const EXAMPLE = {
  request_id: 'lost-answer-0001',
  index: 0,
  id: 'call_1',
  tool: 'create_payment',
  effect_id: 'e_0123456789abcdefghijkl',
  arguments: '{"amount":5}',
  state: 'open',
  verdict: null,
  by: null,
  code: 'timeout',
  since: '2026-11-29T03:00:00.000Z',
  attempts: 3,
  next_look_at: '2026-11-29T03:00:36.000Z',
  run_may_act_until: null,
  fence: 1,
} as const satisfies z.infer<typeof UnknownCall>;

const STORE_AWAY = problem(
  'The store is unavailable, the token cannot be verified now, or the service is stopping.',
  new ProblemError(503, 'store_unavailable', 'The session store is unavailable. Try again.'),
);

export const LIST_UNKNOWN_SCHEMA = {
  operationId: 'listUnknownCalls',
  summary: 'List the writes whose outcome is unknown',
  description:
    "Writes of the caller's tenant that are looked for by the `reconcile` of their tool, of the tools that its key may use; anonymous callers see those of their address.",
  tags: ['tool calls'],
  querystring: {
    type: 'object',
    properties: {
      tool: {
        type: 'string',
        pattern: '^[A-Za-z0-9_.-]{1,64}$',
        description: 'Calls of one tool.',
        examples: ['create_payment'],
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 1000,
        description: 'How many are listed. Default 100.',
        examples: [10],
      },
    },
  },
  response: {
    200: ok(UnknownList, 'The calls.', { example: { calls: [EXAMPLE], total: 1 } }),
    ...PROBLEMS,
    400: problem(
      'A parameter is not valid or not known.',
      new ProblemError(400, 'invalid_query', 'limit: must be from 1 to 1000'),
    ),
    414: TOO_LONG,
    503: STORE_AWAY,
  },
};

const ByHand = z
  .strictObject({
    verdict: z.enum(['happened', 'did_not_happen']),
    value: z.unknown().optional().describe('The value of the call, if it happened.'),
    reason: z.string().min(1).max(500).describe('How the person knows; for the log.'),
  })
  .meta({ id: 'VerdictByHand' });

const Headers = z.object({
  'if-match': z
    .string()
    .regex(/^(W\/)?"?\d{1,9}"?$/)
    .optional()
    .describe('The fence of the call as it was read. Required with a body.')
    .meta({ examples: ['"1"'] }),
});

export const RECONCILE_SCHEMA = {
  operationId: 'reconcileCall',
  summary: 'Look for a write now, or settle it by hand',
  description:
    'Without a body: its tool looks once whether the write took effect. With a body a person decides; that needs a key with the operation `operate`, which is never implied, and `If-Match`. What is found out replaces the stored result. After `did_not_happen` the same Idempotency-Key runs the call again, with the same effect id.',
  tags: ['tool calls'],
  params: {
    type: 'object',
    properties: {
      request_id: {
        type: 'string',
        pattern: '^[A-Za-z0-9_-]{16,64}$',
        description: 'The id of the request whose batch ran the call.',
        examples: ['lost-answer-0001'],
      },
      index: {
        type: 'string',
        pattern: '^\\d{1,4}$',
        description: 'The place of the call in its batch, from 0.',
        examples: ['0'],
      },
    },
    required: ['request_id', 'index'],
  },
  headers: toSchema(Headers, 'input'),
  body: toSchema(ByHand, 'input'),
  response: {
    200: ok(UnknownCall, 'How the call stands now. `ETag` has its fence.', {
      example: {
        ...EXAMPLE,
        state: 'settled',
        verdict: 'happened',
        by: 'tool',
        attempts: 4,
        next_look_at: null,
        fence: 2,
      },
    }),
    ...PROBLEMS,
    400: problem(
      'The index or the body is not valid.',
      new ProblemError(400, 'invalid_verdict', 'Send {"verdict": "happened" | "did_not_happen", "value"?, "reason"}.'),
    ),
    403: problem('The key may not do that.', operationNotAllowed('The key may not settle calls by hand.')),
    404: problem('No such call of this request is looked for.', createNotStoredProblem()),
    409: problem(
      'It is known how the call ended, it still runs, or it has changed since that fence.',
      new ProblemError(409, 'outcome_settled', 'It is known how this call ended. Read its result.'),
    ),
    413: problem('The body is larger than 300,000 bytes.', 413),
    414: TOO_LONG,
    415: problem('Not application/json in UTF-8.', 415),
    428: problem(
      'A verdict without `If-Match`.',
      new ProblemError(428, 'fence_required', 'Send If-Match with the fence that GET /calls/unknown shows.'),
    ),
    503: STORE_AWAY,
  },
};
