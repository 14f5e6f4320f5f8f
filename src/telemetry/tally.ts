import { Counter, Gauge, Histogram, type MetricValueWithName, type Registry } from 'prom-client';
import type { ToolNames } from './tool-names.ts';

type Labels = Readonly<Record<string, string>>;
type Spec = {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Which tools have series, where one of the labels is `tool`; those of others are one. */
  readonly toolNames?: ToolNames;
};

/** One series of a counter: a plain number. */
export type CountSeries = { count: number };

/** One series of a histogram. */
export type TimeSeries = { readonly observe: (value: number) => void };

/**
 * A counter whose hot path adds to a plain number; prom-client sees it when it collects. Looking a series up in
 * prom-client three times a call cost more than the rest of the executor.
 */
export const createTallyCounter = (spec: Spec): ((labels: Labels) => CountSeries) => {
  const { seriesOf, all } = createSeries(spec, toCount);
  const counter = new Counter({
    ...toMetric(spec),
    collect: () => {
      counter.reset();
      for (const { labels, count } of all()) counter.inc(labels, count);
    },
  });
  return seriesOf;
};

/** A gauge of the same kind: whoever has a series sets its `count`. */
export const createTallyGauge = (spec: Spec): ((labels: Labels) => CountSeries) => {
  const { seriesOf, all } = createSeries(spec, toCount);
  const gauge = new Gauge({
    ...toMetric(spec),
    collect: () => {
      // What was forgotten has no series any more.
      gauge.reset();
      for (const { labels, count } of all()) gauge.set(labels, count);
    },
  });
  return seriesOf;
};

const toMetric = ({ registry, name, help, labelNames }: Spec) => ({
  name,
  help,
  labelNames: [...labelNames],
  registers: [registry],
});

const toCount = (labels: Labels) => ({ labels, count: 0 });

/** All series of one metric; where they are of tools, in groups that go when their tool does. */
const createSeries = <Series>({ labelNames, toolNames }: Spec, create: (labels: Labels) => Series) => {
  const groups = new Map<string | undefined, Map<string, Series>>();
  toolNames?.onForget((tool) => groups.delete(tool));
  const toLabels = (labels: Labels): Labels => {
    const { tool } = labels;
    return tool === undefined || toolNames === undefined ? labels : { ...labels, tool: toolNames.labelOf(tool) };
  };
  const seriesOf = (given: Labels): Series => {
    const labels = toLabels(given);
    const group = groups.get(labels['tool']) ?? new Map<string, Series>();
    if (group.size === 0) groups.set(labels['tool'], group);
    const key = labelNames.map((name) => labels[name]).join('\n');
    const series = group.get(key) ?? create(labels);
    group.set(key, series);
    return series;
  };
  const all = (): readonly Series[] => {
    toolNames?.sweep();
    return [...groups.values()].flatMap((group) => [...group.values()]);
  };
  return { seriesOf, all };
};

/** A histogram of the same kind. `buckets` are upper bounds in rising order, in the unit of the name. */
export const createTallyHistogram = (
  spec: Spec & { readonly buckets: readonly number[] },
): ((labels: Labels) => TimeSeries) => {
  const histogram = new TallyHistogram(spec);
  return histogram.seriesOf;
};

class Tally {
  readonly labels: Labels;
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;
  count = 0;

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels;
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  readonly observe = (value: number): void => {
    this.sum += value;
    this.count += 1;
    const { bounds, counts } = this;
    let place = 0;
    while (place < bounds.length && value > (bounds[place] ?? 0)) place += 1;
    const so = counts[place];
    if (so !== undefined) counts[place] = so + 1;
  };
}

class TallyHistogram extends Histogram<string> {
  readonly seriesOf: (labels: Labels) => TimeSeries;
  readonly #all: () => readonly Tally[];
  readonly #spec: Spec & { readonly buckets: readonly number[] };

  constructor(spec: Spec & { readonly buckets: readonly number[] }) {
    super({
      name: spec.name,
      help: spec.help,
      labelNames: [...spec.labelNames],
      buckets: [...spec.buckets],
      registers: [spec.registry],
    });
    this.#spec = spec;
    const { seriesOf, all } = createSeries(spec, (labels) => new Tally(labels, spec.buckets));
    this.seriesOf = seriesOf;
    this.#all = all;
  }

  // What prom-client calls for its values; it has no way to hand it counted buckets.
  async getForPromString(): Promise<object> {
    const { name, help } = this.#spec;
    const values: (MetricValueWithName<string> & { readonly sharedLabels: Labels })[] = [];
    // Its `get` would read the labels that buckets share; here each bucket carries all of its own.
    const sharedLabels = {};
    for (const { labels, bounds, counts, sum, count } of this.#all()) {
      let below = 0;
      for (const [place, bound] of bounds.entries()) {
        below += counts[place] ?? 0;
        values.push({
          metricName: `${name}_bucket`,
          labels: { ...labels, le: String(bound) },
          sharedLabels,
          value: below,
        });
      }
      values.push({ metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, sharedLabels, value: count });
      values.push({ metricName: `${name}_sum`, labels: { ...labels }, sharedLabels, value: sum });
      values.push({ metricName: `${name}_count`, labels: { ...labels }, sharedLabels, value: count });
    }
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }
}
