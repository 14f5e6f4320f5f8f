import type { Metrics } from './metrics.ts';
import type { CountSeries, TimeSeries } from './tally.ts';

type Response = { readonly method: string; readonly route: string; readonly status: number; readonly seconds: number };

// Node knows some thirty more, and whoever sends them would make series of them.
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE']);

/** Counts and times every HTTP answer. `route` is a pattern of ours or `_unmatched`, never a path; a method that no route has is `_other`. */
export const createResponseObserver = (metrics: Metrics): ((response: Response) => void) => {
  const known = new Map<string, { readonly requests: CountSeries; readonly duration: TimeSeries }>();
  // From 0 on: a rate misses the first of a series that appears with it, and one 500 is one too many.
  for (const status_code of ['200', '500']) metrics.httpRequests({ method: 'POST', route: '/tool-calls', status_code });
  return ({ method: sent, route, status, seconds }) => {
    const method = METHODS.has(sent) ? sent : '_other';
    const key = `${method} ${route} ${status}`;
    const found = known.get(key);
    const labels = { method, route, status_code: String(status) };
    const series = found ?? { requests: metrics.httpRequests(labels), duration: metrics.httpDuration(labels) };
    if (found === undefined) known.set(key, series);
    series.requests.count += 1;
    series.duration.observe(seconds);
  };
};
