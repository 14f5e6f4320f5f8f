import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { createDashboard } from '../../scripts/dashboard/create-dashboard.ts';
import { ROOT } from './script-sandbox.ts';

const FILE = join(ROOT, 'deploy/grafana/dashboards/recourse.json');

const DataSource = z.object({ type: z.literal('prometheus'), uid: z.literal(['$', '{datasource}'].join('')) });
const Place = z.object({ x: z.int(), y: z.int(), w: z.int().min(3), h: z.int() });
const Panel = z.object({
  id: z.int(),
  type: z.enum(['stat', 'timeseries', 'bargauge', 'table']),
  title: z.string(),
  description: z.string(),
  datasource: DataSource,
  gridPos: Place,
  links: z.array(z.object({ url: z.string() })).default([]),
  fieldConfig: z.object({
    defaults: z.object({ unit: z.string() }),
    overrides: z.array(z.object({ matcher: z.object({ options: z.string() }), properties: z.array(z.unknown()) })),
  }),
  targets: z.array(z.object({ expr: z.string(), datasource: DataSource, legendFormat: z.string().optional() })),
});
const Row = z.object({ id: z.int(), type: z.literal('row'), title: z.string(), gridPos: Place, panels: z.tuple([]) });
const Dashboard = z.object({
  uid: z.literal('recourse'),
  panels: z.array(z.discriminatedUnion('type', [Row, Panel])),
  annotations: z.object({ list: z.array(z.object({ expr: z.string() })) }),
  templating: z.object({ list: z.array(z.object({ name: z.string() })) }),
});

const dashboard = Dashboard.parse(JSON.parse(readFileSync(FILE, 'utf8')));
const panels = dashboard.panels.filter((panel) => panel.type !== 'row');
const rows = dashboard.panels.filter((panel) => panel.type === 'row');
const queries = [...panels.flatMap(({ targets }) => targets), ...dashboard.annotations.list].map(({ expr }) => expr);

test('the file is what its description in scripts/dashboard makes', () => {
  expect(readFileSync(FILE, 'utf8')).toBe(createDashboard());
});

test('the rows tell the story from the state of the service down to its process', () => {
  expect(rows.map((row) => row.title)).toEqual([
    'Status',
    'Batches',
    'Tools: $tool',
    'Fault split',
    'Budgets and loops',
    'Isolation',
    'Upstreams',
    'Overload',
    'Workers and pending calls',
    'Sessions and idempotency',
    'Access and secrets',
    'By tenant',
    'Runtime',
  ]);
});

test('without scrolling one sees whether it is well, and which tool fails, why, and by whose fault', () => {
  // Grafana shows some twenty units of height on a screen of 1080 lines.
  const first = panels.filter(({ gridPos: { y, h } }) => y + h <= 20).map(({ title }) => title);
  expect(first).toEqual([
    'Replicas up',
    'Session store',
    'Calls answered',
    'Calls that succeed',
    'Failures of the service',
    'HTTP 5xx except 503',
    'Contract violations',
    'Open circuits',
    'What fails, and why',
    'Failures by fault',
  ]);
});

test('the faults of the service are red, and those of nobody else are', () => {
  const colours = panels
    .filter(({ title }) => title === 'Failures by fault')
    .flatMap(({ fieldConfig }) => fieldConfig.overrides)
    .map(({ matcher, properties }) => [matcher.options, properties]);
  const fixed = (fixedColor: string) => [{ id: 'color', value: { mode: 'fixed', fixedColor } }];
  expect(colours).toEqual([
    ['service', fixed('red')],
    ['tool', fixed('orange')],
    ['upstream', fixed('purple')],
    ['caller', fixed('blue')],
    ['policy', fixed('text')],
  ]);
});

test('there are panels, and every one has a title of its own, a unit, a description and a query', () => {
  expect(panels.length).toBeGreaterThan(70);
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  for (const panel of panels) {
    expect(panel.description, panel.title).toMatch(/^[A-Z0-9].{20,}\.$/);
    expect(panel.fieldConfig.defaults.unit, panel.title).not.toBe('');
    expect(panel.targets.length, panel.title).toBeGreaterThan(0);
  }
});

test('what can have several series says which is which', () => {
  const nameless = panels
    .filter(({ type }) => type === 'timeseries' || type === 'bargauge')
    .filter(({ targets }) => targets.some(({ legendFormat = '' }) => legendFormat === ''));
  expect(nameless.map(({ title }) => title)).toEqual([]);
});

test('panels lie side by side, fill their rows and do not overlap', () => {
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  const height = Math.max(...dashboard.panels.map(({ gridPos: { y, h } }) => y + h));
  expect(cells).toHaveLength(24 * height);
});

test('every query can be narrowed to a replica, and every rate adapts to the scrape interval', () => {
  for (const query of queries) {
    const selectors = query.match(/\{[^}]*\}/g) ?? [];
    expect(selectors.length, query).toBeGreaterThan(0);
    for (const selector of selectors) expect(selector, query).toContain('instance=~"$instance"');
    const ranges = query.match(/\[[^\]]*\]/g) ?? [];
    expect(ranges.filter((range) => !['[$__rate_interval]', '[$__range]'].includes(range))).toEqual([]);
  }
});

test('the rows of tools and faults can be narrowed to a tool', () => {
  const byTool = queries.filter((query) => /by \([^)]*\btool\b/.test(query) && !query.includes('== 2'));
  expect(byTool.length).toBeGreaterThan(10);
  expect(byTool.filter((query) => !query.includes('tool=~"$tool"'))).toEqual([]);
});

test('the data source, the replica, the tool, the places of the runbook and of the console can be chosen', () => {
  expect(dashboard.templating.list.map((variable) => variable.name)).toEqual([
    'datasource',
    'instance',
    'tool',
    'runbook',
    'console',
  ]);
});
