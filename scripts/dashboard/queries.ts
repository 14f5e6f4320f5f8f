// PromQL for the replicas that are chosen above the dashboard. Names of metrics are written out, so that one finds them.

/** Narrows a query to the tools that are chosen above the dashboard. */
export const CHOSEN_TOOLS = 'tool=~"$tool"';

/** The series of a metric, as they are now. */
export const series = (metric: string, ...labels: readonly string[]): string =>
  `${metric}{${['instance=~"$instance"', ...labels].join(', ')}}`;

/** By how much a counter grows in a second. */
export const rate = (metric: string, ...labels: readonly string[]): string =>
  `rate(${series(metric, ...labels)}[$__rate_interval])`;

/** By how much a counter has grown in the time that is shown. */
export const increase = (metric: string, ...labels: readonly string[]): string =>
  `increase(${series(metric, ...labels)}[$__range])`;

export const sum = (expression: string): string => `sum(${expression})`;

/** One sum for each value of these labels. */
export const sumBy = (by: string, expression: string): string => `sum by (${by}) (${expression})`;

/** The largest for each value of these labels: of what every replica shows alike. */
export const maxBy = (by: string, expression: string): string => `max by (${by}) (${expression})`;

/** 0 where there is nothing yet: a counter has no series before it first counts. */
export const orZero = (expression: string): string => `(${expression} or vector(0))`;

/** Nothing, rather than a number that is none, where the whole is 0. */
export const share = (part: string, whole: string): string => `${part} / (${whole} > 0)`;

type Spread = { readonly by?: string; readonly labels?: readonly string[] };

/** The value that this part of all observations of a histogram is below. */
export const quantile = (part: number, histogram: string, { by = '', labels = [] }: Spread = {}): string =>
  `histogram_quantile(${part}, ${sumBy(by === '' ? 'le' : `le, ${by}`, rate(`${histogram}_bucket`, ...labels))})`;
