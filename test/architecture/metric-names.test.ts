import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { createAllMetrics } from '../../scripts/all-metrics.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          record: z.string().optional(),
          alert: z.string().optional(),
          expr: z.string(),
          annotations: z.record(z.string(), z.string()).default({}),
        }),
      ),
    }),
  ),
});
const readRules = (path: string) => Rules.parse(parse(read(path))).groups.flatMap(({ rules }) => rules);
const RULES = [...readRules('deploy/recording-rules.yml'), ...readRules('deploy/alerts.yml')];
const RECORDED = RULES.flatMap(({ record }) => record ?? []);
const ALERTS = RULES.flatMap(({ alert }) => alert ?? []);

const Panel = z.object({
  links: z.array(z.object({ url: z.string() })).default([]),
  targets: z.array(z.object({ expr: z.string() })).default([]),
});
const Dashboard = z.object({
  panels: z.array(Panel),
  annotations: z.object({ list: z.array(z.object({ expr: z.string() })) }),
  templating: z.object({ list: z.array(z.object({ definition: z.string().default('') })) }),
});
const dashboard = Dashboard.parse(JSON.parse(read('deploy/grafana/dashboards/recourse.json')));
const DRAWN = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n');
const ASKED = [
  ...dashboard.annotations.list.map(({ expr }) => expr),
  ...dashboard.templating.list.map(({ definition }) => definition),
].join('\n');

// Ours, what rules record of ours, and what Node's client adds. In PromQL nothing else looks like that.
const NAME = /\b(?:recourse[_:]|nodejs_|process_)[a-z0-9_:]*[a-z0-9]/g;
const namesIn = (text: string): readonly string[] => [...new Set(text.match(NAME))].sort();

const exported = async (): Promise<ReadonlySet<string>> => {
  const metrics = await createAllMetrics().getMetricsAsJSON();
  return new Set(metrics.map(({ name }) => name));
};

const withoutSuffix = (name: string): string => name.replace(/_(bucket|sum|count)$/, '');

/** Those of these names that the service does not export and no rule records. */
const unknownAmong = async (names: readonly string[]): Promise<readonly string[]> => {
  const known = await exported();
  return names.filter((name) => !known.has(name) && !known.has(withoutSuffix(name)) && !RECORDED.includes(name));
};

const ownMetrics = async (): Promise<readonly string[]> =>
  [...(await exported())].filter((name) => name.startsWith('recourse_')).sort();

test('the texts that are compared are those that name metrics', async () => {
  expect((await ownMetrics()).length).toBeGreaterThan(30);
  expect(namesIn(DRAWN).length).toBeGreaterThan(40);
  expect(RECORDED.length).toBeGreaterThan(5);
  expect(ALERTS.length).toBeGreaterThan(10);
});

test('every metric of the service is in docs/metrics.md, and is drawn by the dashboard', async () => {
  const own = await ownMetrics();
  expect(namesIn(read('docs/metrics.md')).filter((name) => name.startsWith('recourse_'))).toEqual(own);
  const drawn = new Set(namesIn(DRAWN).map(withoutSuffix));
  expect(own.filter((name) => !drawn.has(name))).toEqual([]);
});

test.each([
  ['the dashboard', `${DRAWN}\n${ASKED}`],
  [
    'rules and alerts',
    RULES.map(({ expr, annotations }) => [expr, ...Object.values(annotations)].join('\n')).join('\n'),
  ],
  ['docs/operations.md', read('docs/operations.md')],
])('every metric that %s names is exported by the service or recorded by a rule', async (_, text) => {
  expect(namesIn(text).length).toBeGreaterThan(5);
  // A page also names them all by their beginning: `nodejs_*`. What ends in `:*` are keys of Redis.
  expect(await unknownAmong(namesIn(text.replaceAll(/\w+_\*|[\w:]+:\*/g, '')))).toEqual([]);
});

test('every rule that is recorded is used by an alert, a rule, or a page', () => {
  const used = RULES.map(({ expr }) => expr).join('\n') + read('docs/operations.md');
  expect(RECORDED.filter((name) => !namesIn(used).includes(name))).toEqual([]);
});

test('every alert has a panel that shows what it fires on, and panels lead to sections of alerts', () => {
  const anchors = dashboard.panels.flatMap(({ links }) => links.map(({ url }) => url.slice(url.indexOf('#') + 1)));
  expect([...new Set(anchors)].sort()).toEqual(ALERTS.map((alert) => alert.toLowerCase()).sort());
});
