import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { ROOT } from './script-sandbox.ts';

const DataSource = z.object({ type: z.literal('prometheus'), uid: z.string().regex(/^\$\{datasource\}$/) });
const Panel = z.object({
  title: z.string(),
  description: z.string(),
  datasource: DataSource,
  fieldConfig: z.object({ defaults: z.object({ unit: z.string() }) }),
  targets: z.array(z.object({ expr: z.string(), datasource: DataSource })),
});
const Row = z.object({ type: z.literal('row'), title: z.string(), panels: z.array(z.never()) });
const Dashboard = z.object({
  uid: z.literal('recourse'),
  panels: z.array(z.union([Row, Panel])),
  templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.unknown() })) }),
});

const dashboard = Dashboard.parse(
  JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/dashboards/recourse.json'), 'utf8')),
);
const rows = dashboard.panels.filter((panel) => 'panels' in panel);
const panels = dashboard.panels.filter((panel) => 'targets' in panel);
const queries = panels.flatMap((panel) => panel.targets.map((target) => target.expr));

// Words of PromQL that stand where a metric could.
const WORDS = [
  'by',
  'le',
  'sum',
  'min',
  'max',
  'rate',
  'increase',
  'topk',
  'time',
  'histogram_quantile',
  'ignoring',
  'group_left',
  'or',
  'vector',
];

/** The metrics that a query names: what is left of its words without strings, selectors, groupings and functions. */
const metricsOf = (query: string): readonly string[] =>
  (
    query
      .replace(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
      .replace(/\b(by|ignoring|on|without) ?\([^)]*\)/g, ' ')
      .match(/[a-z_][a-z0-9_:]*/gi) ?? []
  ).filter((word) => !WORDS.includes(word));

test('the rows tell the story from the state of the service down to its process', () => {
  expect(rows.map((row) => row.title)).toEqual([
    'Status',
    'Batches',
    'Tools: $tool',
    'Fault split',
    'Retry budgets',
    'Sessions and idempotency',
    'Session store',
    'Tool hosts',
    'Overload',
    'Runtime',
  ]);
});

test('there are panels, and every one has a title, a unit, a description and a query', () => {
  expect(panels).toHaveLength(47);
  for (const panel of panels) {
    expect(panel.title).not.toBe('');
    expect(panel.description, panel.title).toMatch(/^[A-Z0-9].{20,}\.$/);
    expect(panel.fieldConfig.defaults.unit, panel.title).not.toBe('');
    expect(panel.targets.length, panel.title).toBeGreaterThan(0);
  }
});

test('panels lie side by side and do not overlap', () => {
  const Placed = z.object({ gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }) });
  const raw = z
    .object({ panels: z.array(Placed) })
    .parse(JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/dashboards/recourse.json'), 'utf8')));
  const cells = raw.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
});

test('every query names metrics of the service, of its process, or up, and nothing else', () => {
  for (const query of queries) {
    const metrics = metricsOf(query);
    expect(metrics.length, query).toBeGreaterThan(0);
    for (const metric of metrics)
      expect(metric, query).toMatch(/^(recourse_[a-z_]+|nodejs_[a-z0-9_]+|process_[a-z_]+|up)$/);
  }
});

test('the service exports every metric that a query names', async () => {
  const exported = (await createMetrics('1.0.0').registry.getMetricsAsJSON()).flatMap(({ name }) => [
    name,
    `${name}_bucket`,
    `${name}_sum`,
    `${name}_count`,
  ]);
  const named = new Set(queries.flatMap(metricsOf));
  named.delete('up');
  expect([...named].filter((metric) => !exported.includes(metric))).toEqual([]);
});

test('the dashboard draws every metric of the service but its version', async () => {
  const drawn = new Set(queries.flatMap(metricsOf).map((metric) => metric.replace(/_(bucket|sum|count)$/, '')));
  const own = (await createMetrics('1.0.0').registry.getMetricsAsJSON())
    .map(({ name }) => name)
    .filter((name) => name.startsWith('recourse_'));
  expect(own.filter((metric) => !drawn.has(metric))).toEqual(['recourse_build_info']);
});

test('every query can be narrowed to a replica, and every rate adapts to the scrape interval', () => {
  for (const query of queries) {
    expect(query).toContain('instance=~"$instance"');
    const ranges = query.match(/\[[^\]]*\]/g) ?? [];
    expect(ranges.filter((range) => !['[$__rate_interval]', '[$__range]'].includes(range))).toEqual([]);
  }
});

test('the data source, the replica and the tool can be chosen', () => {
  expect(dashboard.templating.list.map((variable) => variable.name)).toEqual(['datasource', 'instance', 'tool']);
});
