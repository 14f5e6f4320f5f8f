import { Counter, Gauge, Histogram, type MetricValueWithName, type Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;
type Spec = {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
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
  const { seriesOf, all } = createSeries(spec.labelNames);
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
  const { seriesOf, all } = createSeries(spec.labelNames);
  const gauge = new Gauge({
    ...toMetric(spec),
    collect: () => {
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

const createSeries = (labelNames: readonly string[]) => {
  const known = new Map<string, CountSeries & { readonly labels: Labels }>();
  const seriesOf = (labels: Labels): CountSeries => {
    const key = labelNames.map((name) => labels[name]).join('\n');
    const found = known.get(key);
    if (found !== undefined) return found;
    const fresh = { labels, count: 0 };
    known.set(key, fresh);
    return fresh;
  };
  return { seriesOf, all: () => known.values() };
};

/** A histogram of the same kind. `buckets` are upper bounds in rising order, in the unit of the name. */
export const createTallyHistogram = (
  spec: Spec & { readonly buckets: readonly number[] },
): ((labels: Labels) => TimeSeries) => {
  const histogram = new TallyHistogram(spec);
  return (labels) => histogram.seriesOf(labels);
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
  readonly #series = new Map<string, Tally>();
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
  }

  seriesOf(labels: Labels): Tally {
    const key = this.#spec.labelNames.map((name) => labels[name]).join('\n');
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const fresh = new Tally(labels, this.#spec.buckets);
    this.#series.set(key, fresh);
    return fresh;
  }

  // What prom-client calls for its values; it has no way to hand it counted buckets.
  async getForPromString(): Promise<object> {
    const { name, help } = this.#spec;
    const values: (MetricValueWithName<string> & { readonly sharedLabels: Labels })[] = [];
    // Its `get` would read the labels that buckets share; here each bucket carries all of its own.
    const sharedLabels = {};
    for (const { labels, bounds, counts, sum, count } of this.#series.values()) {
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
