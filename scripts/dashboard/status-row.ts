import { type Column, FAULT_COLOURS, NEUTRAL, only, type Row, type StatPanel, ZERO_IS_WELL } from './panel.ts';
import { CHOSEN_TOOLS, increase, orZero, rate, series, share, sum, sumBy } from './queries.ts';

const CALLS = 'recourse_tool_calls_total';
const FAILURES = 'recourse_tool_call_failures_total';
const CAUSE = 'tool, code, fault';
const FAILED = sumBy(CAUSE, increase(FAILURES, CHOSEN_TOOLS));
const WORST = `topk(20, ${FAILED} > 0)`;

const STATS: readonly StatPanel[] = [
  {
    kind: 'stat',
    title: 'Replicas up',
    page: '#overview=replicas',
    alerts: ['RecourseReplicaDown', 'RecourseMetricsAbsent'],
    description: 'Replicas that Prometheus can scrape. Fewer than you run: check the pods first.',
    unit: 'short',
    queries: only(sum(series('up'))),
    steps: [
      { from: null, colour: 'red' },
      { from: 1, colour: 'green' },
    ],
  },
  {
    kind: 'stat',
    title: 'Session store',
    page: '#overview=store',
    alerts: ['RecourseStoreDegraded'],
    description: 'Degraded if at least one replica cannot reach its session store and counts budgets locally.',
    unit: 'short',
    queries: only(`min(${series('recourse_session_store_up')})`),
    words: ['degraded', 'up'],
    steps: [
      { from: null, colour: 'red' },
      { from: 1, colour: 'green' },
    ],
  },
  {
    kind: 'stat',
    title: 'Calls answered',
    description: 'Results per second, successes and failures.',
    unit: 'cps',
    queries: only(sum(rate(CALLS))),
    steps: NEUTRAL,
  },
  {
    kind: 'stat',
    title: 'Calls that succeed',
    page: '#overview=failing',
    description:
      'Share of calls with success = true. Failures inside an HTTP 200 count as failures; panels below split them by fault.',
    unit: 'percentunit',
    queries: only(share(sum(rate(CALLS, 'outcome="success"')), sum(rate(CALLS)))),
    decimals: 1,
    max: 1,
    noValue: 'no calls',
    steps: [
      { from: null, colour: 'red' },
      { from: 0.8, colour: 'orange' },
      { from: 0.95, colour: 'green' },
    ],
  },
  {
    kind: 'stat',
    title: 'Failures of the service',
    page: '#overview=failing',
    alerts: ['RecourseServiceFaultFastBurn', 'RecourseServiceFaultSlowBurn'],
    description: 'Share of calls that failed by fault of this service. The objective is less than 0.1 %.',
    unit: 'percentunit',
    queries: only(share(orZero(sum(rate(CALLS, 'fault="service"'))), sum(rate(CALLS)))),
    decimals: 2,
    noValue: 'no calls',
    steps: [
      { from: null, colour: 'green' },
      { from: 0.001, colour: 'red' },
    ],
  },
  {
    kind: 'stat',
    title: 'HTTP 5xx except 503',
    alerts: ['RecourseServerError'],
    description: 'Batches of the time shown that were answered 5xx, without those refused with 503. Must stay 0.',
    unit: 'short',
    queries: only(
      orZero(
        sum(
          increase('recourse_http_requests_total', 'route="/tool-calls"', 'status_code=~"5.."', 'status_code!="503"'),
        ),
      ),
    ),
    decimals: 0,
    steps: ZERO_IS_WELL,
  },
  {
    kind: 'stat',
    title: 'Contract violations',
    page: '#calls=&code=internal_error',
    alerts: ['RecourseContractViolation'],
    description:
      'Internal errors caught by the last-resort handler over the time shown. Must stay 0: each one is a bug of this service.',
    unit: 'short',
    queries: only(orZero(sum(increase('recourse_contract_violations_total')))),
    decimals: 0,
    steps: ZERO_IS_WELL,
  },
  {
    kind: 'stat',
    title: 'Open circuits',
    page: '#overview=circuits',
    alerts: ['RecourseCircuitOpen'],
    description: 'Tools refused on at least one replica because they or their upstream keep failing.',
    unit: 'short',
    queries: only(orZero(`count(max by (tool) (${series('recourse_circuit_state')}) == 2)`)),
    steps: [
      { from: null, colour: 'green' },
      { from: 1, colour: 'orange' },
    ],
  },
];

const COLUMNS: readonly Column[] = [
  {
    field: 'tool',
    title: 'Tool',
    link: {
      title: 'Show this tool alone',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana replaces it.
      url: '/d/recourse?var-tool=${__value.raw}&${datasource:queryparam}&${instance:queryparam}&${__url_time_range}',
    },
  },
  {
    field: 'code',
    title: 'Code',
    link: {
      title: 'Failed calls in the console',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: likewise.
      url: '${console}#calls=&tool=${__data.fields.tool}&code=${__value.raw}',
    },
  },
  { field: 'fault', title: 'Fault' },
  { field: 'Value #A', title: 'Failures', unit: 'short' },
  { field: 'Value #B', title: 'Of its calls', unit: 'percentunit' },
];

/** What one sees first: is it well, and if not, which tool fails, why, and by whose fault. */
export const STATUS_ROW: Row = {
  title: 'Status',
  lines: [
    { height: 4, panels: STATS },
    {
      height: 11,
      panels: [
        {
          kind: 'table',
          title: 'What fails, and why',
          alerts: ['RecourseToolFailing', 'RecoursePagingToolFailing'],
          description:
            'The twenty most frequent kinds of failure of the time shown. fault=service is a fault of this service; tool and upstream concern the owner of the tool; caller and policy the agents. The log line `tool call failed` with this tool and code has the exception, under the `reference` of the result; in a trace it is the span `execute_tool` with this `error.type`.',
          unit: 'short',
          width: 14,
          queries: [
            { expression: WORST, legend: '' },
            {
              expression: `${FAILED} / on (tool) group_left () (${sumBy('tool', increase(CALLS, CHOSEN_TOOLS))} > 0) and ${WORST}`,
              legend: '',
            },
          ],
          columns: COLUMNS,
          colours: FAULT_COLOURS,
        },
        {
          kind: 'graph',
          title: 'Failures by fault',
          page: '#overview=failing',
          description:
            "Failed calls per second by fault: this service (red), the tool, its upstream, the caller (the model's call), or a rule (policy). Only red is a fault of the service.",
          unit: 'cps',
          queries: only(sumBy('fault', rate(FAILURES, CHOSEN_TOOLS)), '{{fault}}'),
          form: 'stacked',
          colours: FAULT_COLOURS,
        },
      ],
    },
  ],
};
