import { expect, test } from 'vitest';
import { collectExposition } from '../../scripts/metrics/collect-exposition.ts';
import { lintExposition } from '../../scripts/metrics/lint-exposition.ts';

const GOOD = '# HELP a_requests_total Requests.\n# TYPE a_requests_total counter\na_requests_total{code="1"} 3\n';

test('promtool has no complaint about what a service exports after batches that end in every common way', async () => {
  const exposition = await collectExposition();
  const missing = [
    'recourse_http_requests_total{method="POST",route="/tool-calls",status_code="401"} 1',
    'recourse_idempotency_total{result="replayed"} 1',
    'recourse_tool_calls_total{tool="_unknown",outcome="retry",code="unknown_tool",fault="caller"} 1',
    'recourse_tool_calls_total{tool="read_file",outcome="refused",code="retry_budget_exhausted",fault="policy"} 1',
    'recourse_contract_violations_total 0',
  ].filter((line) => !exposition.includes(`${line}\n`));
  expect(missing).toEqual([]);
  const verdict = await lintExposition(exposition);
  expect(verdict).toMatchObject({ kind: 'clean' });
  const { metrics, series } = verdict.kind === 'clean' ? verdict : { metrics: 0, series: 0 };
  // The usual ones of the process and of Node, and more than thirty of the service.
  expect(metrics).toBeGreaterThan(50);
  expect(series).toBeGreaterThan(metrics);
});

test('metrics and series are counted', async () => {
  expect(await lintExposition(`${GOOD}a_requests_total{code="2"} 0\n`)).toEqual({
    kind: 'clean',
    metrics: 1,
    series: 2,
  });
});

test.each([
  ['a gauge that is named like a counter', GOOD.replace('counter', 'gauge'), 'a_requests_total'],
  ['a counter that is not', GOOD.replaceAll('_total', ''), 'counter metrics should have "_total" suffix'],
  ['a metric without a word on what it is', GOOD.replace(/^# HELP.*\n/, ''), 'no help text'],
  ['a unit that is not the base unit', GOOD.replaceAll('requests', 'milliseconds'), 'use base unit "seconds"'],
  ['what is no exposition', 'this is {no} metric\n', 'parsing'],
  ['a metric in two places', `${GOOD}b_total 1\n${GOOD}`, 'a_requests_total'],
])("%s is refused in promtool's words", async (_, exposition, words) => {
  expect(await lintExposition(exposition)).toEqual({ kind: 'refused', complaints: expect.stringContaining(words) });
});

test('nothing at all is refused, too', async () => {
  expect(await lintExposition('')).toEqual({ kind: 'refused', complaints: 'There is no metric in it.' });
});
