import { Overview } from '@recourse/oncall/contract/contract';
import * as z from 'zod';
import { overloaded } from '../../src/routes/problems.ts';
import { PROBLEMS, problem, REQUEST_ID_HEADER, toSchema } from './answer-schemas.ts';

// What the OpenAPI document says of the overview.

const MINUTE = { at: '2026-11-30T03:11:00.000Z', calls: 120, failures: 9, p50_ms: 14.3, p95_ms: 229.4 } as const;
const EXAMPLE = {
  at: '2026-11-30T03:11:42.000Z',
  version: '0.2.0',
  figures: {
    minutes: [MINUTE],
    total: { calls: 120, failures: 9, p50_ms: 14.3, p95_ms: 229.4 },
    tools: [
      {
        ...{ tool: 'create_payment', calls: 120, failures: 9, p50_ms: 14.3, p95_ms: 229.4 },
        ...{ calls_by_minute: [120], failures_by_minute: [9] },
      },
    ],
    more_tools: 0,
    failures: [
      {
        ...{ tool: 'create_payment', code: 'timeout', fault: 'tool', failures: 9, is_now: true },
        since: '2026-11-30T03:11:02.000Z',
        last_at: '2026-11-30T03:11:40.000Z',
        message: "'create_payment' did not finish within 30 s.",
        reference: '01M7YS1XNXZX345EQCMYZYC2PQ',
      },
    ],
    faults: { tool: 9 },
  },
  sessions: { failing: 2, blocked: [] },
  unknown: { total: 1 },
  approvals: { total: 0 },
  ...{ replicas: [], circuits: [], files: [], hosts: [], upstreams: [], lanes: [], warnings: [] },
  store: { kind: 'redis', status: 'up', used_bytes: 1_048_576, max_bytes: 268_435_456 },
} as const satisfies z.input<typeof Overview>;

const Heartbeat = z.object({ event: z.literal('heartbeat') });
const SnapshotEvent = z
  .object({ event: z.literal('snapshot'), id: z.string(), data: Overview })
  .meta({ id: 'OverviewSnapshot', description: 'The overview as it is now: whole, each time something has changed.' });
const example = { event: 'snapshot', id: '1', data: EXAMPLE };

export const OVERVIEW_SCHEMA = {
  operationId: 'getOverview',
  summary: 'Get what people on call read first',
  description:
    "The last hour of the caller's tenant in all replicas, what fails now and since when, and the states of circuits, files, hosts, upstreams, lanes, replicas and the store; of the tools that its key may use. By `Accept` a stream of `snapshot` events, at most one each two seconds.",
  tags: ['operations'],
  response: {
    200: {
      description: 'The overview.',
      headers: REQUEST_ID_HEADER,
      content: {
        'application/json': { schema: toSchema(Overview, 'output'), example: EXAMPLE },
        'text/event-stream': {
          schema: toSchema(SnapshotEvent, 'output'),
          examples: {
            snapshot: { summary: 'The data of `event: snapshot`, with its `event` and `id`', value: example },
          },
        },
        'application/x-ndjson': {
          schema: toSchema(z.union([SnapshotEvent, Heartbeat]), 'output'),
          examples: { snapshot: { summary: 'One line', value: example } },
        },
      },
    },
    ...PROBLEMS,
    503: problem(
      'Too many answers wait or stream, the token cannot be verified now, or the service is stopping.',
      overloaded({ reason: 'waiters', retryAfterSeconds: 2 }),
    ),
  },
};
