import { parseRoute } from '@recourse/console/page/route';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { FAILURE_CODES } from '#src/contract/failure.ts';
import { ALERTS, readDeployed } from './alert-rules.ts';

// Addresses of the console that alerts, the runbook and the dashboard lead to.

const ADDRESS = 'http://127.0.0.1:8080/console';
const BASE = `{{ with $externalLabels.console_of_recourse }}{{ . }}{{ else }}${ADDRESS}{{ end }}`;
const SECTIONS = [
  ...['circuits', 'files', 'hosts', 'upstreams', 'lanes', 'unknown', 'approvals', 'store', 'replicas'],
  ...['warnings', 'failing'],
];

/** What is wrong with a fragment: a page that the console does not have, a name that the page does not read, an unknown word. */
const findFault = (fragment: string): string | null => {
  const named = [...new URLSearchParams(fragment.slice(1))];
  const [first] = named;
  const route = parseRoute(fragment);
  if (first === undefined || (route.page === 'overview') !== (first[0] === 'overview')) return 'no page';
  const read: readonly unknown[] = Object.values(route);
  const unread = named.find(([, value]) => value !== '' && !read.includes(value));
  if (unread !== undefined) return `${unread[0]} is not read`;
  if (route.page === 'overview' && !SECTIONS.includes(route.section ?? '')) return 'no section';
  const { code = '' } = Object.fromEntries(named);
  return code === '' || code === 'LABEL' || FAILURE_CODES.some((one) => one === code) ? null : 'no code';
};

const fragmentOf = (url: string): string => url.slice(url.lastIndexOf('#'));
const pageOf = ({ annotations }: (typeof ALERTS)[number]): string =>
  fragmentOf(annotations.console_url.replace('{{ $labels.tool }}', 'LABEL'));

test('what is no page, no name, no section or no code is found', () => {
  expect(
    ['#', '#nowhere=', '#overview=attic', '#calls=&name=pay', '#calls=&code=broken', '#sessions=all'].map(findFault),
  ).toEqual(['no page', 'no page', 'no section', 'name is not read', 'no code', 'sessions is not read']);
});

test('every alert leads to a page of the console, at the address that Prometheus names', () => {
  for (const alert of ALERTS) {
    expect(alert.annotations.console_url, alert.alert).toMatch(/^\{\{ with .*\{\{ end \}\}#[a-z]+/);
    expect(alert.annotations.console_url.startsWith(BASE), alert.alert).toBe(true);
    expect(findFault(pageOf(alert)), alert.alert).toBeNull();
  }
});

test('the runbook names the same page first', () => {
  const runbook = readDeployed('docs/operations.md');
  for (const alert of ALERTS) {
    const [, section = ''] = runbook.split(`#### ${alert.alert}\n`);
    const [, page] =
      /^- \*\*Look\*\*: \[console\]\(#the-console\) `([^`]+)`: /m.exec(section.split('\n#### ')[0] ?? '') ?? [];
    expect(page, alert.alert).toBe(pageOf(alert).replace('LABEL', '…'));
  }
});

const Link = z.object({ title: z.string(), url: z.string() });
const Panel = z.object({
  title: z.string(),
  fieldConfig: z.object({
    defaults: z.object({ links: z.array(Link).default([]) }),
    overrides: z.array(z.object({ properties: z.array(z.object({ id: z.string(), value: z.unknown() })) })),
  }),
  targets: z.array(z.object({ expr: z.string() })),
});
const Dashboard = z.object({
  panels: z.array(z.union([Panel, z.object({ type: z.literal('row') })])),
  templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.unknown() })) }),
});
const dashboard = Dashboard.parse(JSON.parse(readDeployed('deploy/grafana/dashboards/recourse.json')));
const panels = dashboard.panels.flatMap((panel) => ('title' in panel ? [panel] : []));
const CONSOLE = ['$', '{console}#'].join('');

const linksOf = ({ fieldConfig: { defaults, overrides } }: z.infer<typeof Panel>) => {
  const ofColumns = overrides.flatMap(({ properties }) =>
    properties.flatMap(({ id, value }) => (id === 'links' ? z.array(Link).parse(value) : [])),
  );
  return [...defaults.links, ...ofColumns].filter(({ url }) => url.startsWith(CONSOLE));
};

test('panels lead to pages of the console, with labels that their queries have', () => {
  const linked = panels.filter((panel) => linksOf(panel).length > 0);
  expect(linked.length).toBeGreaterThan(35);
  for (const panel of linked)
    for (const { url } of linksOf(panel)) {
      const fragment = fragmentOf(url).replace(/\$\{[^}]+\}/g, 'LABEL');
      expect(findFault(fragment), panel.title).toBeNull();
      for (const [, label = ''] of url.matchAll(/__(?:field\.labels|data\.fields)\.(\w+)/g))
        for (const { expr } of panel.targets)
          expect(expr, panel.title).toMatch(new RegExp(`by \\([^)]*\\b${label}\\b|on \\(${label}\\)`));
    }
});

test('the dashboard asks for the address of the console once, and begins with that of a service on this machine', () => {
  expect(dashboard.templating.list.find(({ name }) => name === 'console')?.query).toBe(ADDRESS);
});
