import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { createAllMetrics } from '../../scripts/all-metrics.ts';
import { ROOT } from './script-sandbox.ts';

const AlertRule = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
  annotations: z.strictObject({
    summary: z.string(),
    description: z.string(),
    runbook_url: z.string(),
    console_url: z.string(),
  }),
});
const RecordingRule = z.strictObject({ record: z.string(), expr: z.string() });
const fileOf = <Rule extends z.ZodType>(rule: Rule) =>
  z.strictObject({
    groups: z.array(z.strictObject({ name: z.string(), interval: z.string().optional(), rules: z.array(rule) })),
  });

export const readDeployed = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The alerts of deploy/alerts.yml, in their order. */
export const ALERTS = fileOf(AlertRule)
  .parse(parse(readDeployed('deploy/alerts.yml')))
  .groups.flatMap(({ rules }) => rules);

/** The rules of deploy/recording-rules.yml, in their order. */
export const RECORDED = fileOf(RecordingRule)
  .parse(parse(readDeployed('deploy/recording-rules.yml')))
  .groups.flatMap(({ rules }) => rules);

const Described = z.object({ name: z.string(), type: z.string(), labelNames: z.array(z.string()).default([]) });

const suffixesOf = (type: string): readonly string[] => (type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']);

/** The labels of each series that the service exports, by its name in a query, and those that a scrape adds. */
export const EXPORTED: ReadonlyMap<string, readonly string[]> = new Map([
  ['up', ['job', 'instance']],
  ...createAllMetrics()
    .getMetricsAsArray()
    .map((metric) => Described.parse(metric))
    .flatMap(({ name, type, labelNames }) =>
      suffixesOf(type).map(
        (suffix) =>
          [`${name}${suffix}`, ['job', 'instance', ...labelNames, ...(suffix === '_bucket' ? ['le'] : [])]] as const,
      ),
    ),
]);

// Words of PromQL that stand where a metric could.
const WORDS: ReadonlySet<string> = new Set([
  ...['or', 'and', 'unless', 'by', 'on', 'offset', 'group_left'],
  ...['sum', 'group', 'min', 'max', 'rate', 'increase', 'changes', 'absent', 'time', 'histogram_quantile'],
  ...['sum_over_time', 'min_over_time', 'max_over_time'],
]);

/** What a query reads: series of the service and recorded ones. */
export const seriesOf = (query: string): readonly string[] =>
  (
    query
      .replace(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, ' ')
      .replace(/\b(by|on|offset) ?(\([^)]*\)|\d+[a-z])/g, ' ')
      .match(/[a-z_][a-z0-9_:]*/gi) ?? []
  ).filter((word) => !WORDS.has(word));

/** `[series, label]` for each label by which a query selects. */
export const selectionsOf = (query: string): readonly (readonly [series: string, label: string])[] =>
  [...query.matchAll(/([a-z_][a-z0-9_:]*)\{([^}]*)\}/gi)].flatMap(([, series = '', labels = '']) =>
    [...labels.matchAll(/([a-z_]+)(?==~|!=|=|!~)/g)].map(([, label = '']) => [series, label] as const),
  );
