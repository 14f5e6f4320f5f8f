import type { BarsPanel, Colour, Column, GraphPanel, Panel, Query, StatPanel, Step, TablePanel } from './panel.ts';

/** What Grafana reads; its schema is its own. */
export type Json = Readonly<Record<string, unknown>>;

// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana replaces it by what is chosen above the dashboard.
export const DATA_SOURCE: Json = { type: 'prometheus', uid: '${datasource}' };

// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana replaces it by what stands above the dashboard.
const RUNBOOK = '${runbook}';

// biome-ignore lint/suspicious/noTemplateCurlyInString: likewise.
const CONSOLE = '${console}';

export type Place = { readonly x: number; readonly y: number; readonly w: number; readonly h: number };

/** A panel as Grafana reads it. */
export const toPanelJson = (panel: Panel, id: number, gridPos: Place): Json => ({
  id,
  title: panel.title,
  description: panel.description,
  datasource: DATA_SOURCE,
  gridPos,
  ...(panel.alerts === undefined ? {} : { links: panel.alerts.map(toRunbookLink) }),
  ...toKind(panel),
  targets: panel.queries.map((query, place) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + place),
    datasource: DATA_SOURCE,
    ...toTarget(panel, query),
  })),
});

const toRunbookLink = (alert: string): Json => ({
  title: `Runbook: ${alert}`,
  url: `${RUNBOOK}#${alert.toLowerCase()}`,
  targetBlank: true,
});

const toTarget = ({ kind }: Panel, { expression, legend }: Query): Json => {
  const over = kind === 'graph' || kind === 'stat' ? { range: true } : { instant: true, range: false };
  return kind === 'table'
    ? { expr: expression, format: 'table', ...over }
    : { expr: expression, legendFormat: legend, ...over };
};

const toKind = (panel: Panel): Json => {
  switch (panel.kind) {
    case 'stat':
      return toStat(panel);
    case 'graph':
      return toGraph(panel);
    case 'bars':
      return toBars(panel);
    case 'table':
      return toTable(panel);
  }
};

/** What a click on a series opens. Names of tools, and codes, need no encoding. */
const toConsoleLink = (page: string): Json => ({
  title: 'Open in the console',
  url: `${CONSOLE}${page.replace(/\{(\w+)\}/g, (_, label: string) => `\${__field.labels.${label}}`)}`,
  targetBlank: true,
});

const LAST = { calcs: ['lastNotNull'], fields: '', values: false };

const toDefaults = ({ unit, max, words, page }: Panel): Json => ({
  unit,
  min: 0,
  ...(page === undefined ? {} : { links: [toConsoleLink(page)] }),
  ...(max === undefined ? {} : { max }),
  ...(words === undefined
    ? {}
    : { mappings: [toMapping(words.map((word, value) => [String(value), { text: word }]))] }),
});

const toMapping = (entries: readonly (readonly [string, Json])[]): Json => ({
  type: 'value',
  options: Object.fromEntries(entries.map(([value, shown], index) => [value, { ...shown, index }])),
});

const toThresholds = (steps: readonly Step[]): Json => ({
  color: { mode: 'thresholds' },
  thresholds: { mode: 'absolute', steps: steps.map(({ from, colour }) => ({ color: colour, value: from })) },
});

const toColourOverrides = (colours: Readonly<Record<string, Colour>> = {}): readonly Json[] =>
  Object.entries(colours).map(([name, fixedColor]) => ({
    matcher: { id: 'byName', options: name },
    properties: [{ id: 'color', value: { mode: 'fixed', fixedColor } }],
  }));

const toStat = (panel: StatPanel): Json => ({
  type: 'stat',
  fieldConfig: {
    defaults: {
      ...toDefaults(panel),
      ...toThresholds(panel.steps),
      ...(panel.decimals === undefined ? {} : { decimals: panel.decimals }),
      ...(panel.noValue === undefined ? {} : { noValue: panel.noValue }),
    },
    overrides: [],
  },
  options: {
    reduceOptions: LAST,
    colorMode: 'background',
    graphMode: 'area',
    textMode: 'value',
    justifyMode: 'center',
  },
});

const toGraph = (panel: GraphPanel): Json => ({
  type: 'timeseries',
  fieldConfig: {
    defaults: {
      ...toDefaults(panel),
      custom: {
        drawStyle: 'line',
        lineWidth: 1,
        lineInterpolation: panel.form === 'steps' ? 'stepAfter' : 'linear',
        fillOpacity: panel.form === 'stacked' ? 25 : 8,
        showPoints: 'never',
        spanNulls: false,
        stacking: { mode: panel.form === 'stacked' ? 'normal' : 'none', group: 'A' },
      },
    },
    overrides: toColourOverrides(panel.colours),
  },
  options: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
});

const toBars = (panel: BarsPanel): Json => ({
  type: 'bargauge',
  fieldConfig: {
    defaults: { ...toDefaults(panel), ...toThresholds(panel.steps) },
    overrides: toColourOverrides(panel.colours),
  },
  options: { orientation: 'horizontal', displayMode: 'basic', reduceOptions: LAST },
});

const toTable = (panel: TablePanel): Json => ({
  type: 'table',
  fieldConfig: {
    defaults: {
      unit: panel.unit,
      custom: { align: 'auto', filterable: true },
      ...(panel.colours === undefined ? {} : toWordColours(panel.colours)),
    },
    overrides: panel.columns.map(toColumnOverride),
  },
  options: { showHeader: true, cellHeight: 'sm' },
  transformations: [
    { id: 'merge', options: {} },
    // Whatever else a query gives is no column.
    { id: 'filterFieldsByName', options: { include: { names: panel.columns.map(({ field }) => field) } } },
    {
      id: 'organize',
      options: {
        indexByName: Object.fromEntries(panel.columns.map(({ field }, place) => [field, place])),
        renameByName: Object.fromEntries(panel.columns.map(({ field, title }) => [field, title])),
      },
    },
  ],
});

const toWordColours = (colours: Readonly<Record<string, Colour>>): Json => ({
  mappings: [toMapping(Object.entries(colours).map(([word, color]) => [word, { text: word, color }]))],
});

const toColumnOverride = ({ title, unit, link }: Column): Json => ({
  matcher: { id: 'byName', options: title },
  properties: [
    unit === undefined ? { id: 'custom.cellOptions', value: { type: 'color-text' } } : { id: 'unit', value: unit },
    ...(unit === 'percentunit'
      ? [
          { id: 'max', value: 1 },
          { id: 'custom.cellOptions', value: { type: 'gauge', mode: 'basic' } },
        ]
      : []),
    ...(link === undefined ? [] : [{ id: 'links', value: [link] }]),
  ],
});
