import { Counter, Gauge, Histogram, type MetricValueWithName, type Registry } from 'prom-client';
import type { ToolNames } from './tool-series.ts';

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

export type Define = ReturnType<typeof createDefinitions>;

/** Ways to define a metric; `recourse_` goes before each name. Where one of the labels is `tool`, `toolNames` says which tools have series. */
export const createDefinitions = (registry: Registry, toolNames: ToolNames) => {
  const toSpec = (name: string, help: string, labelNames: readonly string[]) => ({
    registry,
    name: `recourse_${name}`,
    help,
    labelNames,
    toolNames,
  });
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    createTallyCounter(toSpec(name, help, labelNames));
  return {
    counter,
    /** The one series of a counter without labels. */
    count: (name: string, help: string) => counter(name, help, [])({}),
    /** One series for each value of a closed label. */
    countBy: <Value extends string>(name: string, help: string, label: string, values: readonly Value[]) => {
      const series = counter(name, help, [label]);
      return recordOf(values, (value) => series({ [label]: value }));
    },
    tallyGauge: (name: string, help: string, labelNames: readonly string[]) =>
      createTallyGauge(toSpec(name, help, labelNames)),
    histogram: (name: string, help: string, labelNames: readonly string[], buckets: readonly number[]) =>
      createTallyHistogram({ ...toSpec(name, help, labelNames), buckets }),
    /** A gauge of prom-client; `collect` sets it at every scrape. */
    gauge: (
      name: string,
      help: string,
      labelNames: readonly string[] = [],
      collect?: (gauge: Gauge<string>) => void,
    ) => {
      const gauge: Gauge<string> = new Gauge({
        ...toMetric(toSpec(name, help, labelNames)),
        ...(collect && { collect: () => collect(gauge) }),
      });
      return gauge;
    },
    /** A counter of prom-client; `collect` sets it at every scrape, from 0. */
    plainCounter: (
      name: string,
      help: string,
      labelNames: readonly string[],
      collect?: (counter: Counter<string>) => void,
    ) => {
      const collectAnew = (): void => {
        made.reset();
        collect?.(made);
      };
      const made: Counter<string> = new Counter({
        ...toMetric(toSpec(name, help, labelNames)),
        ...(collect && { collect: collectAnew }),
      });
      return made;
    },
  };
};

/** A record with a value for each key. */
export const recordOf = <Key extends string, Value>(
  keys: readonly Key[],
  toValue: (key: Key) => Value,
): Readonly<Record<Key, Value>> => {
  const record = Object.fromEntries(keys.map((key) => [key, toValue(key)]));
  if (!hasKeys<Key, Value>(record, keys)) throw new Error('A key of a record is missing.');
  return record;
};

const hasKeys = <Key extends string, Value>(
  record: object,
  keys: readonly Key[],
): record is Readonly<Record<Key, Value>> => keys.every((key) => key in record);

/**
 * A counter whose hot path adds to a plain number; prom-client sees it when it collects. Looking a series up in
 * prom-client three times a call cost more than the rest of the executor.
 */
const createTallyCounter = (spec: Spec): ((labels: Labels) => CountSeries) => {
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
const createTallyGauge = (spec: Spec): ((labels: Labels) => CountSeries) => {
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
  const seriesOf = (unresolved: Labels): Series => {
    const labels = toLabels(unresolved);
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
const createTallyHistogram = (spec: HistogramSpec): ((labels: Labels) => TimeSeries) =>
  new TallyHistogram(spec).seriesOf;

type HistogramSpec = Spec & { readonly buckets: readonly number[] };

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
    const before = counts[place];
    if (before !== undefined) counts[place] = before + 1;
  };
}

class TallyHistogram extends Histogram<string> {
  readonly seriesOf: (labels: Labels) => TimeSeries;
  readonly #all: () => readonly Tally[];
  readonly #spec: HistogramSpec;

  constructor(spec: HistogramSpec) {
    super({ ...toMetric(spec), buckets: [...spec.buckets] });
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
