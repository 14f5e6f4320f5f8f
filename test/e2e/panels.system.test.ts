import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type MixedLoad, startMixedLoad } from '@recourse/test-support/mixed-load.ts';
import { type RunningPrometheus, startPrometheus } from '@recourse/test-support/prometheus.ts';
import { ROOT } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const Panel = z.object({ title: z.string(), targets: z.array(z.object({ refId: z.string(), expr: z.string() })) });
const Dashboard = z.object({
  panels: z.array(z.union([Panel, z.object({ type: z.literal('row') })])),
  annotations: z.object({ list: z.array(z.object({ name: z.string(), expr: z.string() })) }),
});

type Query = { readonly title: string; readonly expression: string };

const readQueries = (): readonly Query[] => {
  const text = readFileSync(join(ROOT, 'deploy/grafana/dashboards/recourse.json'), 'utf8');
  return Dashboard.parse(JSON.parse(text)).panels.flatMap((panel) =>
    'targets' in panel
      ? panel.targets.map(({ refId, expr }) => ({ title: `${panel.title}, ${refId}`, expression: expr }))
      : [],
  );
};

// What Grafana puts in their places. The load takes less than two minutes.
const VARIABLES: readonly (readonly [string, string])[] = [
  ['$instance', '.+'],
  ['$tool', '.*'],
  ['$__rate_interval', '2m'],
  ['$__range', '2m'],
];

const fillIn = (expression: string): string =>
  VARIABLES.reduce((text, [name, value]) => text.replaceAll(name, value), expression);

/** Resolves when Prometheus has seen as many requests as the service has answered by now. */
const whenScraped = async (prometheus: RunningPrometheus, load: MixedLoad): Promise<void> => {
  const answered = await load.metric('recourse_http_requests_total');
  const seen = async () => (await prometheus.query('sum(recourse_http_requests_total)'))[0]?.value ?? 0;
  await expect.poll(seen, { timeout: timeLimit(20_000), interval: 100 }).toBeGreaterThanOrEqual(answered);
};

const readCounters = (): readonly string[] =>
  readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8').match(/(?<=^\| `)recourse_\w+_total/gm) ?? [];

/** Those of the queries that give no number in Prometheus, and those that give nothing but 0. */
const runAll = async ({ query }: RunningPrometheus, queries: readonly Query[]) => {
  const empty: string[] = [];
  const zero: string[] = [];
  for (const { title, expression } of queries) {
    const values = (await query(fillIn(expression))).map(({ value }) => value).filter((value) => !Number.isNaN(value));
    if (values.length === 0) empty.push(title);
    else if (values.every((value) => value === 0)) zero.push(title);
  }
  return { empty, zero };
};

// Gauges of what is under way: a scrape meets it or does not. And what a list lacks: a write of it meets the time without Redis or does not.
const PASSING = ['Calls in flight, A', 'Calls waiting, A', 'Refused and dropped, D', 'Missing in lists, A'];

// What stays 0 whatever callers, tools and Redis do: it takes a bug, or a service that is killed.
const STAYS_ZERO = [
  'HTTP 5xx except 503, A',
  'Contract violations, A',
  // Hosts whose memory grew: `hostile-isolated-kept-memory.system.test.ts`.
  'Replaced, B',
  // Those of answers that find no memory, and of connections that take nothing: `answer-memory.test.ts`.
  'Refused and dropped, B',
  'Refused and dropped, C',
  // Streams, and what slow readers of them miss: `slow-readers.test.ts`.
  'Refused and dropped, F',
  'Refused and dropped, G',
  // Calls that outlive their requests: test/pending and test/jobs.
  'Oldest queued call, A',
  'Queued calls, A',
  'Queued calls that run, A',
  'Queued calls taken, A',
  'Calls accepted, A',
  'How queued calls end, A',
  'Leases taken over, A',
  'Writes with unknown outcome, A',
  // Of approvals, of an audit log, and of tools whose writes are looked for: `packages/decide/test`.
  'Approvals that wait, A',
  'Approvals that wait, B',
  'Oldest approval, A',
  'Oldest unknown outcome, A',
  'Writes that contradicted their reconcile, A',
  'Audit lines lost, A',
  // Of several replicas: `exact-budgets.system.test.ts`.
  'Updates decided again, A',
  // Of a Redis that is nearly full: `store-space.system.test.ts`.
  'Not kept, A',
  // Of a store that something else writes to: `packages/background/test/store-keys.system.test.ts`.
  'Not acted on in the store, A',
];
// Without an endpoint (packages/background/test/webhooks), and without a tool whose writes are looked for, rules, approvals and an audit
// log: packages/decide/test.
const STAYS_EMPTY = [
  'Webhook deliveries, A',
  'Webhook messages waiting, A',
  'Unknown outcomes that are looked for, A',
  'Rules, A',
  'Share refused by rules, A',
  'Approvals, A',
  'Wait for a person, A',
  'Looks for writes, A',
  'Audit log, A',
];
const EXPECTED = { empty: STAYS_EMPTY, zero: STAYS_ZERO };
const PASSING_COUNTERS = ['recourse_oncall_lines_dropped_total'];
const STAYS_SILENT = [
  'recourse_pending_calls_accepted_total',
  'recourse_pending_leases_taken_over_total',
  'recourse_worker_calls_total',
  'recourse_jobs_taken_total',
  'recourse_webhook_deliveries_total',
  'recourse_contract_violations_total',
  'recourse_request_memory_refused_total',
  'recourse_connections_stalled_total',
  'recourse_stream_events_dropped_total',
  'recourse_session_store_not_kept_total',
  'recourse_session_store_conflicts_total',
  'recourse_session_store_unopened_total',
  'recourse_reconciles_total',
  'recourse_rule_decisions_total',
  'recourse_approvals_total',
  'recourse_audit_lost_total',
  'recourse_reconcile_contradictions_total',
];

test(
  'after a mixed load every counter has counted, and every query of the dashboard gives data in a real Prometheus',
  async () => {
    const load = await startMixedLoad();
    const prometheus = await startPrometheus({ targets: [load.target] });
    onTestFinished(prometheus.stop);
    const queries = readQueries();
    expect(queries.length).toBeGreaterThan(70);
    const sendAndAsk = async () => {
      await load.send();
      await whenScraped(prometheus, load);
      const { empty, zero } = await runAll(prometheus, queries);
      return { empty, zero: zero.filter((title) => !PASSING.includes(title)) };
    };
    // What a counter begins with, no rate sees. And where Redis took too long for once, other series have counted.
    await sendAndAsk();
    let found = await sendAndAsk();
    if (!isDeepStrictEqual(found, EXPECTED)) found = await sendAndAsk();
    expect(found).toEqual(EXPECTED);

    const files = ['serving', 'stale', 'unavailable'].map((state) => load.metric('recourse_tool_files', `"${state}"`));
    expect(await Promise.all(files)).toEqual([3, 1, 1]);

    const silent: string[] = [];
    for (const name of readCounters())
      if (!PASSING_COUNTERS.includes(name) && !((await load.metric(name)) > 0)) silent.push(name);
    expect(silent.toSorted()).toEqual(STAYS_SILENT.toSorted());
  },
  timeLimit(150_000),
);
