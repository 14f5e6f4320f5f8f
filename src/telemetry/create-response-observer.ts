import type { Metrics } from './metrics.ts';
import type { CountSeries, TimeSeries } from './tally.ts';

type Response = { readonly method: string; readonly route: string; readonly status: number; readonly seconds: number };

/** Counts and times every HTTP answer. `route` is a pattern of ours or `_unmatched`, never a path. */
export const createResponseObserver = (metrics: Metrics): ((response: Response) => void) => {
  const known = new Map<string, { readonly requests: CountSeries; readonly duration: TimeSeries }>();
  return ({ method, route, status, seconds }) => {
    const key = `${method} ${route} ${status}`;
    const found = known.get(key);
    const labels = { method, route, status_code: String(status) };
    const series = found ?? { requests: metrics.httpRequests(labels), duration: metrics.httpDuration(labels) };
    if (found === undefined) known.set(key, series);
    series.requests.count += 1;
    series.duration.observe(seconds);
  };
};
