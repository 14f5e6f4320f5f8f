/** One line or cell of a panel: PromQL, and how its series are called; `{{label}}` is replaced. */
export type Query = { readonly expression: string; readonly legend: string };

/** From this value on (null: from the beginning) a number has this colour. */
export type Step = { readonly from: number | null; readonly colour: Colour };

export type Colour = 'green' | 'orange' | 'red' | 'blue' | 'purple' | 'text';

/** A label of a table query, or the value of its query A, B, …, as a column. */
export type Column = {
  readonly field: string;
  readonly title: string;
  /** Of values. Text where there is none. */
  readonly unit?: string;
  /** What a click on a cell opens. */
  readonly link?: { readonly title: string; readonly url: string };
};

type Described = {
  readonly title: string;
  /** What one sees, and what to make of it. */
  readonly description: string;
  /** As Grafana names units: s, cps, percentunit, short, bytes, … */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** Alerts that fire on what is seen here; their sections in docs/operations.md say what to do. */
  readonly alerts?: readonly string[];
  /** The page of the console that says more; `{tool}` and `{code}` are labels of the series. */
  readonly page?: `#${string}`;
  /** Of 24 columns; without it the panels of a line share what is left. */
  readonly width?: number;
  /** The largest value there can be. */
  readonly max?: number;
  /** Words instead of the numbers 0, 1, 2, … */
  readonly words?: readonly string[];
  /** Series, or words in a table, that always have the same colour. */
  readonly colours?: Readonly<Record<string, Colour>>;
};

/** One number, with how it came to it behind it. */
export type StatPanel = Described & {
  readonly kind: 'stat';
  readonly steps: readonly Step[];
  readonly decimals?: number;
  /** Shown where the query gives nothing. */
  readonly noValue?: string;
};

/** Lines over time. */
export type GraphPanel = Described & { readonly kind: 'graph'; readonly form?: 'lines' | 'stacked' | 'steps' };

/** A bar for each series, over the time shown. */
export type BarsPanel = Described & { readonly kind: 'bars'; readonly steps: readonly Step[] };

/** Rows of labels and values. The queries must give the same labels; the rows are sorted by the value of the first. */
export type TablePanel = Described & { readonly kind: 'table'; readonly columns: readonly Column[] };

export type Panel = StatPanel | GraphPanel | BarsPanel | TablePanel;

/** Panels that lie side by side. */
export type Line = { readonly height: number; readonly panels: readonly Panel[] };

export type Row = { readonly title: string; readonly lines: readonly Line[] };

export const line = (...panels: readonly Panel[]): Line => ({ height: 8, panels });

/** One query whose series are called by this. */
export const only = (expression: string, legend = ''): readonly Query[] => [{ expression, legend }];

/** Who is to blame has one colour everywhere. Only the first is this service. */
export const FAULT_COLOURS = {
  service: 'red',
  tool: 'orange',
  upstream: 'purple',
  caller: 'blue',
  policy: 'text',
} as const satisfies Record<string, Colour>;

/** A number that must stay 0. */
export const ZERO_IS_WELL: readonly Step[] = [
  { from: null, colour: 'green' },
  { from: 1e-9, colour: 'red' },
];

/** A number that says nothing about well or ill. */
export const NEUTRAL: readonly Step[] = [{ from: null, colour: 'blue' }];
