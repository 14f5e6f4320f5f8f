import * as z from 'zod';
import { overloaded } from './access-problems.ts';
import { ANSWER_EXAMPLES, REFUSED_ENVELOPE, REQUEST_EXAMPLES } from './call-examples.ts';
import { ok, PROBLEMS, problem, toSchema } from './route-schemas.ts';
import { createKeyInFlightProblem, createReusedKeyProblem } from './tool-calls.ts';
import { TurnAnswer, TurnBody, TurnQuery } from './turn-schemas.ts';

const ToolCallsHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^("[ -~]{1,255}"|[!#-~][ -~]{0,254})$/)
    .optional()
    .describe(
      '1 to 255 printable ASCII characters, bare or quoted: what ran is not run again when the batch is sent again.',
    )
    .meta({ examples: ['order-19'] }),
  'x-request-id': z
    .string()
    .regex(/^[A-Za-z0-9_-]{16,64}$/)
    .optional()
    .describe('An id for this request; made by the service if absent. Kept results can be asked for under it.')
    .meta({ examples: ['01M7YS1XNXZX345EQCMYZYC2PQ'] }),
});

const ACCEPTED = ok(TurnAnswer, 'Accepted: one result per call, also when every call failed.', {
  examples: ANSWER_EXAMPLES,
});

export const TOOL_CALLS_SCHEMA = {
  operationId: 'executeToolCalls',
  summary: 'Execute the tool calls of one model turn',
  description:
    'Every call of an accepted batch gets exactly one result, in its place. HTTP says whether the service could take the batch; each result says what happened to its call. Entries of `calls` are judged one by one: a malformed one gets a result of its own. The body may be the message of a model as its provider sent it: then the answer holds the messages that its conversation goes on with.',
  tags: ['tool calls'],
  querystring: toSchema(TurnQuery, 'input'),
  headers: toSchema(ToolCallsHeaders, 'input'),
  body: { ...toSchema(TurnBody, 'input'), 'x-examples': REQUEST_EXAMPLES },
  response: {
    200: {
      ...ACCEPTED,
      headers: {
        ...ACCEPTED.headers,
        'Idempotent-Replayed': { type: 'string', description: '`true` where nothing ran: all results were kept.' },
        'Recourse-Warning': {
          type: 'string',
          description: 'With `raw`: what `warnings` says in other answers. Only where there is something to say.',
        },
      },
    },
    ...PROBLEMS,
    400: problem('The body is of no known shape, or its envelope is malformed. Nothing has run.', REFUSED_ENVELOPE),
    409: problem('A batch with this Idempotency-Key still runs.', createKeyInFlightProblem(3_000)),
    422: problem('This Idempotency-Key came with another body before. Nothing has run.', createReusedKeyProblem()),
    413: problem('The body is larger than MAX_BODY_BYTES.', 413),
    415: problem('Not application/json in UTF-8.', 415),
    503: problem(
      'The service is stopping or overloaded, or cannot check the token now.',
      overloaded({ reason: 'queue', retryAfterSeconds: 2 }),
    ),
  },
};
