import { FAULT_COLOURS, line, NEUTRAL, only, type Row } from './panel.ts';
import { CHOSEN_TOOLS, increase, orZero, quantile, rate, share, sum, sumBy } from './queries.ts';

const BATCHES = (...labels: readonly string[]): string =>
  rate('recourse_http_requests_total', 'route="/tool-calls"', ...labels);
const CALLS = 'recourse_tool_calls_total';
const FAILURES = 'recourse_tool_call_failures_total';
const DURATION = 'recourse_tool_call_duration_seconds';
const failed = (...labels: readonly string[]): string => rate(FAILURES, CHOSEN_TOOLS, ...labels);

export const BATCHES_ROW: Row = {
  title: 'Batches',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Requests by status',
        description:
          'Requests to POST /tool-calls per second by HTTP status. 200 means that the batch was accepted, not that its calls succeeded.',
        unit: 'reqps',
        queries: only(sumBy('status_code', BATCHES()), '{{status_code}}'),
      },
      {
        kind: 'graph',
        title: 'Batches not accepted',
        alerts: ['RecourseBatchesLostFastBurn', 'RecourseBatchesLostSlowBurn'],
        description:
          "Share of requests to POST /tool-calls with a 4xx (the caller's envelope, key or rate) and a 5xx (the objective is zero, 503 while draining or saturated aside).",
        unit: 'percentunit',
        max: 1,
        queries: ['4', '5'].map((digit) => ({
          expression: share(orZero(sum(BATCHES(`status_code=~"${digit}.."`))), sum(BATCHES())),
          legend: `${digit}xx`,
        })),
      },
      {
        kind: 'graph',
        title: 'Duration of batches',
        description: 'Time from request to answer of POST /tool-calls, tools included.',
        unit: 's',
        queries: [0.5, 0.95, 0.99].map((part) => ({
          expression: quantile(part, 'recourse_http_request_duration_seconds', { labels: ['route="/tool-calls"'] }),
          legend: `p${part * 100}`,
        })),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Overhead of batches',
        description:
          "What the service adds: a batch's time less its slowest handler. The objective is a p99 of at most 25 ms.",
        unit: 's',
        queries: [0.5, 0.99].map((part) => ({
          expression: quantile(part, 'recourse_batch_overhead_seconds'),
          legend: `p${part * 100}`,
        })),
      },
      {
        kind: 'graph',
        title: 'Calls per batch',
        description: 'How many calls the batches carry.',
        unit: 'short',
        queries: [
          {
            expression: share(sum(rate('recourse_batch_size_sum')), sum(rate('recourse_batch_size_count'))),
            legend: 'mean',
          },
          { expression: quantile(0.95, 'recourse_batch_size'), legend: 'p95' },
        ],
      },
      {
        kind: 'graph',
        title: 'Requests by route',
        description: 'All requests per second; _unmatched covers all paths that the service does not have.',
        unit: 'reqps',
        queries: only(sumBy('method, route', rate('recourse_http_requests_total')), '{{method}} {{route}}'),
      },
    ),
  ],
};

export const TOOLS_ROW: Row = {
  title: 'Tools: $tool',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Calls by tool',
        page: '#tool={tool}',
        description: 'Calls per second of each tool; _unknown covers all names that no tool has.',
        unit: 'cps',
        queries: only(sumBy('tool', rate(CALLS, CHOSEN_TOOLS)), '{{tool}}'),
      },
      {
        kind: 'graph',
        title: 'Failures by code',
        page: '#calls=&code={code}',
        description: 'Results with success = false per second, by the code that the model got.',
        unit: 'cps',
        queries: only(sumBy('code', failed()), '{{code}}'),
      },
      {
        kind: 'graph',
        title: 'Duration by tool (p95)',
        page: '#tool={tool}',
        description:
          'Time of a call within which 95 % are answered. Tools beyond METRICS_MAX_TOOLS are _other; refused calls count as 0.',
        unit: 's',
        queries: only(quantile(0.95, DURATION, { by: 'tool', labels: [CHOSEN_TOOLS] }), '{{tool}}'),
      },
    ),
    line(
      {
        kind: 'bars',
        title: 'Worst ten by failures',
        page: '#calls=&tool={tool}',
        description: 'The ten tools with the largest share of failed calls over the time shown.',
        unit: 'percentunit',
        max: 1,
        queries: only(
          `topk(10, ${share(sumBy('tool', increase(FAILURES, CHOSEN_TOOLS)), sumBy('tool', increase(CALLS, CHOSEN_TOOLS)))})`,
          '{{tool}}',
        ),
        steps: [
          { from: null, colour: 'green' },
          { from: 0.05, colour: 'orange' },
          { from: 0.2, colour: 'red' },
        ],
      },
      {
        kind: 'bars',
        title: 'Slowest ten (p95)',
        page: '#tool={tool}',
        description: 'The ten tools with the longest p95 over the time shown.',
        unit: 's',
        queries: only(
          `topk(10, histogram_quantile(0.95, ${sumBy('le, tool', increase(`${DURATION}_bucket`, CHOSEN_TOOLS))}) > 0)`,
          '{{tool}}',
        ),
        steps: NEUTRAL,
      },
      {
        kind: 'graph',
        title: 'Outcomes',
        description:
          'What the results tell the agent to do next, per second. unknown: a write that may have taken effect; check it.',
        unit: 'cps',
        queries: only(sumBy('outcome', rate(CALLS, CHOSEN_TOOLS)), '{{outcome}}'),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Late results',
        page: '#calls=&tool={tool}',
        description:
          'Handlers per second that ended after their call was answered: they ignored their deadline and held their slot.',
        unit: 'cps',
        queries: only(sumBy('tool, ended', rate('recourse_late_results_total', CHOSEN_TOOLS)), '{{tool}} {{ended}}'),
      },
      {
        kind: 'graph',
        title: 'Deadline overruns',
        page: '#calls=&tool={tool}',
        alerts: ['RecourseDeadlineOverrun'],
        description:
          'Calls per second that were answered more than 250 ms after their time limit. The objective is at most 0.1 % of calls; a tool that computes inside the service is the usual cause.',
        unit: 'cps',
        queries: only(sumBy('tool', rate('recourse_deadline_overruns_total', CHOSEN_TOOLS)), '{{tool}}'),
      },
      {
        kind: 'graph',
        title: 'Fatal failures',
        page: '#calls=&tool={tool}',
        description:
          "Unclassified exceptions per second of tools that opted out of graceful errors: each one ended an agent's run.",
        unit: 'cps',
        queries: only(sumBy('tool', rate('recourse_fatal_failures_total', CHOSEN_TOOLS)), '{{tool}}'),
      },
      {
        kind: 'graph',
        title: 'Dry runs',
        description:
          'Calls of dry runs per second, by what they would do: run, ask (wait for an approval), refuse, retry, replay. None of them has run, and no other panel counts them.',
        unit: 'cps',
        queries: only(sumBy('would', rate('recourse_dry_runs_total', CHOSEN_TOOLS)), '{{would}}'),
      },
    ),
  ],
};

export const FAULTS_ROW: Row = {
  title: 'Fault split',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'By fault of this service',
        page: '#overview=failing',
        description:
          'Failed calls per second by fault of the service, by code. If it persists, it needs the on-call engineer.',
        unit: 'cps',
        queries: [
          { expression: orZero(sum(failed('fault="service"'))), legend: 'all' },
          { expression: sumBy('code', failed('fault="service"')), legend: '{{code}}' },
        ],
      },
      {
        kind: 'graph',
        title: 'By fault of tools and upstreams',
        page: '#calls=&tool={tool}&code={code}',
        description: 'Failed calls per second for the owners of the tools or their upstreams.',
        unit: 'cps',
        queries: only(sumBy('tool, code', failed('fault=~"tool|upstream"')), '{{tool}}: {{code}}'),
      },
      {
        kind: 'graph',
        title: 'By fault of callers and by rules',
        page: '#reports',
        description: 'Failed calls per second for the owners of the agents: wrong calls, and calls refused by a rule.',
        unit: 'cps',
        queries: only(sumBy('code', failed('fault=~"caller|policy"')), '{{code}}'),
      },
      {
        kind: 'bars',
        title: 'Share of each fault',
        description: 'Share of each fault in the failures of the time shown.',
        unit: 'percentunit',
        max: 1,
        queries: only(
          `${sumBy('fault', increase(FAILURES, CHOSEN_TOOLS))} / ignoring (fault) group_left () (${sum(increase(FAILURES, CHOSEN_TOOLS))} > 0)`,
          '{{fault}}',
        ),
        steps: NEUTRAL,
        colours: FAULT_COLOURS,
      },
    ),
  ],
};
