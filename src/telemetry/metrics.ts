import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { createAccessMetrics } from './access-metrics.ts';
import { createOverloadMetrics } from './overload-metrics.ts';
import { createSessionMetrics } from './session-metrics.ts';
import { createTallyCounter, createTallyHistogram } from './tally.ts';
import { createToolNames, type ToolNames } from './tool-names.ts';
import { createUpstreamMetrics } from './upstream-metrics.ts';

const CALL_BUCKETS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const REQUEST_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const SIZE_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

// promtool check metrics refuses these three: gauges whose names end in _total.
const MISNAMED_DEFAULTS = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

export type Metrics = ReturnType<typeof createMetrics>;

/** All metrics of the service in a registry of their own. docs/metrics.md is made from it. `now` tells when tools go. */
export const createMetrics = (version: string, now: () => number = () => performance.now()) => {
  const registry = new Registry();
  const toolNames = createToolNames({ now });
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED_DEFAULTS) registry.removeSingleMetric(name);
  new Gauge({
    name: 'recourse_build_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.version }, 1);
  return {
    registry,
    toolNames,
    ...createCallMetrics(registry, toolNames),
    ...createOverloadMetrics(registry),
    ...createServiceMetrics(registry),
    ...createSessionMetrics(registry, toolNames),
    ...createAccessMetrics(registry),
    ...createUpstreamMetrics(registry),
  };
};

const createCallMetrics = (registry: Registry, toolNames: ToolNames) => {
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    createTallyCounter({ registry, name: `recourse_${name}`, help, labelNames, toolNames });
  const histogram = (name: string, help: string, labelNames: readonly string[], buckets: readonly number[]) =>
    createTallyHistogram({ registry, name: `recourse_${name}`, help, labelNames, buckets, toolNames });
  return {
    toolCalls: counter('tool_calls_total', 'Calls answered, by what came of them; code is ok on success.', [
      'tool',
      'outcome',
      'code',
      'fault',
    ]),
    toolCallFailures: counter('tool_call_failures_total', 'Results with success false, which HTTP answers with 200.', [
      'tool',
      'code',
      'fault',
    ]),
    toolCallDuration: histogram(
      'tool_call_duration_seconds',
      'Time from the start of a handler to its answer.',
      ['tool', 'outcome'],
      CALL_BUCKETS,
    ),
    batchSize: histogram('batch_size', 'Calls in an accepted batch.', [], SIZE_BUCKETS),
    batchOverhead: histogram(
      'batch_overhead_seconds',
      'Time of a batch less that of its slowest handler.',
      [],
      CALL_BUCKETS,
    ),
    budgetDecisions: counter(
      'retry_budget_decisions_total',
      'Rounds let in or refused, per tool: free, retry, denied.',
      ['tool', 'decision', 'mode'],
    ),
    budgetExhausted: counter(
      'retry_budget_exhausted_total',
      'Rounds refused because retries of the tool or of the session were gone.',
      ['tool', 'scope'],
    ),
    fatalFailures: counter('fatal_failures_total', 'Failures of tools that opted out of graceful errors.', ['tool']),
    lateResults: counter('late_results_total', 'Handlers that ended after their call had been answered.', [
      'tool',
      'ended',
    ]),
    deadlineOverruns: counter('deadline_overruns_total', 'Calls answered more than 250 ms after their time limit.', [
      'tool',
    ]),
    contractViolations: counter(
      'contract_violations_total',
      'Bugs of the service caught by its last-resort net. Must stay 0.',
      [],
    ),
  };
};

const createServiceMetrics = (registry: Registry) => ({
  httpRequests: createTallyCounter({
    registry,
    name: 'recourse_http_requests_total',
    help: 'HTTP requests answered; failures of calls are not visible here.',
    labelNames: ['method', 'route', 'status_code'],
  }),
  httpDuration: createTallyHistogram({
    registry,
    name: 'recourse_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer.',
    labelNames: ['method', 'route', 'status_code'],
    buckets: REQUEST_BUCKETS,
  }),
});
