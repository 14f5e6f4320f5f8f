import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { ALERTS, EXPORTED, RECORDED, readDeployed, selectionsOf, seriesOf } from './alert-rules.ts';
import { ROOT } from './script-sandbox.ts';

const RUNBOOK = readDeployed('docs/operations.md');
const NAMES = ALERTS.map(({ alert }) => alert);
const QUERIES = [...ALERTS, ...RECORDED].map(({ expr }) => expr);
const RECORDS = RECORDED.map(({ record }) => record);

test('who is woken is a short list, and the rest are tickets', () => {
  expect(ALERTS.filter(({ labels }) => labels.severity === 'page').map(({ alert }) => alert)).toEqual([
    'RecourseServerError',
    'RecourseContractViolation',
    'RecourseReconcileContradiction',
    'RecourseBatchesLostFastBurn',
    'RecourseServiceFaultFastBurn',
    'RecourseOverloaded',
    'RecourseCallersUnknowable',
    'RecourseCrashLoop',
    'RecourseJobsNotTaken',
    'RecoursePagingToolFailing',
    'RecourseMetricsAbsent',
  ]);
  expect(ALERTS).toHaveLength(42);
  expect(new Set(NAMES).size).toBe(42);
});

test('every alert has a name of ours, a summary of one line and a description in whole sentences', () => {
  for (const { alert, annotations } of ALERTS) {
    expect(alert).toMatch(/^Recourse([A-Z][a-z]+)+$/);
    expect(annotations.summary, alert).toMatch(/^[A-Z][^\n]{10,80}[^.]$/);
    expect(annotations.description, alert).toMatch(/^[A-Z{][^\n]{20,}\.$/);
  }
});

test('every alert has a section in the runbook, and every section there an alert', () => {
  const sections = [...RUNBOOK.matchAll(/^#### (\w+)$/gm)].map(([, title = '']) => title);
  expect(sections).toEqual(NAMES);
  for (const { alert, annotations } of ALERTS)
    expect(annotations.runbook_url, alert).toBe(`docs/operations.md#${alert.toLowerCase()}`);
});

test('every section says what it means, where to look, why it may be, what to do and when to escalate', () => {
  const sections = RUNBOOK.split(/^#{1,4} /m).filter((section) => section.startsWith('Recourse'));
  expect(sections).toHaveLength(42);
  for (const section of sections)
    expect(section.match(/^- \*\*\w+\*\*: ./gm), section).toEqual([
      expect.stringContaining('Means'),
      expect.stringContaining('Look'),
      expect.stringContaining('Causes'),
      expect.stringContaining('Do'),
      expect.stringContaining('Escalate'),
    ]);
});

test('rules read series that the service exports or a rule records, and select by labels that these have', () => {
  for (const query of QUERIES) {
    const read = seriesOf(query);
    expect(read.length, query).toBeGreaterThan(0);
    expect(read.filter((name) => !EXPORTED.has(name) && !RECORDS.includes(name))).toEqual([]);
  }
  const selections = QUERIES.flatMap(selectionsOf);
  expect(selections.length).toBeGreaterThan(20);
  expect(selections.filter(([name, label]) => EXPORTED.get(name)?.includes(label) !== true)).toEqual([]);
});

test('every recorded series is read by a rule or by the runbook, and the runbook reads no other', () => {
  // What ends in `:*` are keys of Redis.
  const inRunbook = RUNBOOK.match(/recourse:[a-z0-9_:]+(?![a-z0-9_:*])/g) ?? [];
  expect(inRunbook.filter((name) => !RECORDS.includes(name))).toEqual([]);
  const read = new Set([...QUERIES.flatMap(seriesOf), ...inRunbook]);
  expect(RECORDS.filter((record) => !read.has(record))).toEqual([]);
});

test('the runbook names metrics of the service and no others', () => {
  const named = RUNBOOK.match(/\b(recourse|process|nodejs)_[a-z_]+/g) ?? [];
  expect(named.length).toBeGreaterThan(20);
  // Not a histogram without the suffixes of its series: pasted as a query its name gives nothing.
  expect(named.filter((name) => !EXPORTED.has(name))).toEqual([]);
});

test('panels that the runbook points to are on the dashboard', () => {
  const titles = z
    .object({ panels: z.array(z.object({ title: z.string() })) })
    .parse(JSON.parse(readDeployed('deploy/grafana/dashboards/recourse.json')))
    .panels.map(({ title }) => title);
  const named = [...RUNBOOK.matchAll(/(?<!\*)\*([A-Z][^*]+)\*(?!\*)/g)].map(([, title = '']) =>
    title.replace(/\s+/g, ' '),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((title) => !titles.includes(title))).toEqual([]);
});

test('the rules that Prometheus loads are these two files, and the job it scrapes is the one they look for', () => {
  expect(parse(readDeployed('deploy/prometheus.yml'))).toMatchObject({
    rule_files: ['recording-rules.yml', 'alerts.yml'],
    scrape_configs: [{ job_name: 'recourse' }],
  });
  const jobs = QUERIES.flatMap((query) => query.match(/(?<=job=)"[^"]*"/g) ?? []);
  expect(new Set(jobs)).toEqual(new Set(['"recourse"']));
});

const Case = z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) });
const RuleTests = z.object({ tests: z.array(z.object({ alert_rule_test: z.array(Case).default([]) })) });

test('every alert has a case in which it fires, and one in which it does not', () => {
  const cases = globSync('deploy/promtool-tests/*.yml', { cwd: ROOT })
    .map((path) => RuleTests.parse(parse(readDeployed(path))))
    .flatMap(({ tests }) => tests.flatMap(({ alert_rule_test }) => alert_rule_test));
  const firing = new Set(cases.flatMap(({ alertname, exp_alerts }) => (exp_alerts.length > 0 ? [alertname] : [])));
  const silent = new Set(cases.flatMap(({ alertname, exp_alerts }) => (exp_alerts.length === 0 ? [alertname] : [])));
  expect(NAMES.filter((name) => !firing.has(name))).toEqual([]);
  expect(NAMES.filter((name) => !silent.has(name))).toEqual([]);
  // promtool finds nothing wrong with an alert that does not exist and does not fire.
  expect([...firing, ...silent].filter((name) => !NAMES.includes(name))).toEqual([]);
});
