import { ACCESS_ROW } from './access-row.ts';
import { BATCHES_ROW, FAULTS_ROW, TOOLS_ROW } from './call-rows.ts';
import type { Line, Row } from './panel.ts';
import { ISOLATION_ROW, OVERLOAD_ROW, RUNTIME_ROW } from './process-rows.ts';
import { BUDGETS_ROW, SESSIONS_ROW } from './session-rows.ts';
import { STATUS_ROW } from './status-row.ts';
import { TENANTS_ROW } from './tenants-row.ts';
import { DATA_SOURCE, type Json, type Place, toPanelJson } from './to-panel-json.ts';
import { UPSTREAMS_ROW } from './upstreams-row.ts';
import { WORKERS_ROW } from './workers-row.ts';

const ROWS: readonly Row[] = [
  STATUS_ROW,
  BATCHES_ROW,
  TOOLS_ROW,
  FAULTS_ROW,
  BUDGETS_ROW,
  ISOLATION_ROW,
  UPSTREAMS_ROW,
  OVERLOAD_ROW,
  WORKERS_ROW,
  SESSIONS_ROW,
  ACCESS_ROW,
  TENANTS_ROW,
  RUNTIME_ROW,
];

// As wide as Grafana's grid is.
const COLUMNS = 24;

/** The dashboard as Grafana reads it: deploy/grafana/dashboards/recourse.json. */
export const createDashboard = (): string => `${JSON.stringify(toDashboard(), null, 2)}\n`;

const toDashboard = (): Json => ({
  uid: 'recourse',
  title: 'Recourse',
  description:
    'Tool calls of LLM agents: which tool fails and why, whose fault it is, and how the service does. Made by `npm run generate` from scripts/dashboard.',
  tags: ['recourse'],
  schemaVersion: 39,
  version: 1,
  editable: true,
  graphTooltip: 1,
  timezone: 'browser',
  refresh: '10s',
  time: { from: 'now-1h', to: 'now' },
  links: [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana replaces it.
    { title: 'Runbook', type: 'link', icon: 'doc', url: '${runbook}', targetBlank: true },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: likewise.
    { title: 'Console', type: 'link', icon: 'external link', url: '${console}', targetBlank: true },
  ],
  annotations: { list: [RESTARTS] },
  templating: { list: VARIABLES },
  panels: layOut(ROWS),
});

/** A mark on every graph where a replica began anew. */
const RESTARTS: Json = {
  name: 'Restarts',
  datasource: DATA_SOURCE,
  enable: true,
  iconColor: 'orange',
  expr: 'changes(process_start_time_seconds{instance=~"$instance"}[$__rate_interval]) > 0',
  titleFormat: 'Restarted',
  textFormat: '{{instance}}',
};

// "All" is the list of what there is, not `.*`: `up` has instances that are not ours.
const toChoice = (name: string, label: string, description: string, metric: string): Json => ({
  name,
  label,
  description,
  type: 'query',
  datasource: DATA_SOURCE,
  query: { query: `label_values(${metric}, ${name})`, refId: name },
  definition: `label_values(${metric}, ${name})`,
  refresh: 2,
  sort: 1,
  multi: true,
  includeAll: true,
  current: { selected: true, text: ['All'], value: ['$__all'] },
});

// That of a service on this machine, and of `kubectl port-forward`.
const CONSOLE_ADDRESS = 'http://127.0.0.1:8080/console';

const VARIABLES: readonly Json[] = [
  { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', refresh: 1, current: {} },
  toChoice('instance', 'Replica', 'The replicas shown.', 'recourse_build_info'),
  toChoice('tool', 'Tool', 'The tools shown.', 'recourse_tool_calls_total'),
  {
    name: 'runbook',
    label: 'Runbook',
    description: 'Where docs/operations.md is to be read, for the links of panels.',
    type: 'textbox',
    query: 'docs/operations.md',
    current: { text: 'docs/operations.md', value: 'docs/operations.md' },
  },
  {
    name: 'console',
    label: 'Console',
    description: 'Where the console of the service is, for the links of series.',
    type: 'textbox',
    query: CONSOLE_ADDRESS,
    current: { text: CONSOLE_ADDRESS, value: CONSOLE_ADDRESS },
  },
];

/** Rows from top to bottom, each with its lines; an id for each panel in this order. */
const layOut = (rows: readonly Row[]): readonly Json[] => {
  const laid: Json[] = [];
  let y = 0;
  for (const { title, lines } of rows) {
    const gridPos: Place = { x: 0, y, w: COLUMNS, h: 1 };
    laid.push({ id: laid.length + 1, type: 'row', title, collapsed: false, gridPos, panels: [] });
    y += 1;
    for (const line of lines) {
      for (const { panel, x, w } of placeIn(line))
        laid.push(toPanelJson(panel, laid.length + 1, { x, y, w, h: line.height }));
      y += line.height;
    }
  }
  return laid;
};

/** From left to right; panels without a width of their own share what the others leave. */
const placeIn = ({ panels }: Line) => {
  const taken = panels.reduce((sum, { width = 0 }) => sum + width, 0);
  const even = (COLUMNS - taken) / panels.filter(({ width }) => width === undefined).length;
  let x = 0;
  return panels.map((panel) => {
    const w = panel.width ?? even;
    x += w;
    return { panel, x: x - w, w };
  });
};
