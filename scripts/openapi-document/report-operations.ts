import { ToolReports } from '@recourse/oncall/contract/contract';
import type * as z from 'zod';
import { createStoreProblem, ProblemError } from '../../src/routes/problems.ts';
import { ok, PROBLEMS, problem, TOO_LONG } from './answer-schemas.ts';

// What the OpenAPI document says of reports.

const EXAMPLE = {
  since: '2026-11-29T03:00:00.000Z',
  until: '2026-11-30T03:12:00.000Z',
  tools: [
    {
      tool: 'create_payment',
      calls: 1200,
      failures: 84,
      codes: [{ code: 'invalid_arguments', fault: 'caller', failures: 84 }],
      arguments: [{ path: 'amount', rule: 'a number', failures: 80 }],
      recovered: { sessions: 60, mean_rounds: 1.2 },
      gave_up: 3,
    },
  ],
  unknown_names: [{ name: 'make_payment', calls: 12, nearest: 'create_payment' }],
} as const satisfies z.input<typeof ToolReports>;

export const TOOL_REPORTS_SCHEMA = {
  operationId: 'reportTools',
  summary: 'Report what models get wrong, by tool',
  description:
    "Counts of the calls of the caller's tenant, in all replicas, of the tools that its key may use: failures by code, the arguments that models get wrong, names that no tool has, and how sessions recovered. Never a value.",
  tags: ['tool calls'],
  querystring: {
    type: 'object',
    properties: {
      since: {
        type: 'string',
        format: 'date-time',
        description: 'From the beginning of the hour of this time on. Default, and at the earliest, 24 hours ago.',
        examples: ['2026-11-29T03:00:00Z'],
      },
    },
  },
  response: {
    200: ok(ToolReports, 'The report.', { example: EXAMPLE }),
    ...PROBLEMS,
    400: problem(
      'A parameter is not valid or not known.',
      new ProblemError(400, 'invalid_query', 'since: must be an RFC 3339 time such as 2026-11-30T00:00:00Z'),
    ),
    414: TOO_LONG,
    503: problem(
      'The store is unavailable, an earlier report for this key is not ready, the token cannot be verified now, or the service is stopping.',
      createStoreProblem(),
    ),
  },
};
