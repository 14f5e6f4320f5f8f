import type { Metrics } from './metrics.ts';
import type { CountSeries, TimeSeries } from './tally.ts';

type ResponseSeries = { readonly requests: CountSeries; readonly duration: TimeSeries };
type Response = { readonly method: string; readonly route: string; readonly status: number; readonly seconds: number };

// Node knows some thirty more, and whoever sends them would make series of them.
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE']);

/** Counts and times every HTTP answer. `route` is a pattern of ours or `_unmatched`, never a path; a method that no route has is `_other`. */
export const createResponseObserver = (metrics: Metrics): ((response: Response) => void) => {
  // By route, method and status: a lookup makes no text.
  const known = new Map<string, Map<string, Map<number, ResponseSeries>>>();
  const begin = (method: string, route: string, status: number): ResponseSeries => {
    const labels = { method, route, status_code: String(status) };
    const series = { requests: metrics.httpRequests(labels), duration: metrics.httpDuration(labels) };
    const ofRoute = known.get(route) ?? new Map<string, Map<number, ResponseSeries>>();
    const ofMethod = ofRoute.get(method) ?? new Map<number, ResponseSeries>();
    known.set(route, ofRoute.set(method, ofMethod.set(status, series)));
    return series;
  };
  // From 0 on: a rate misses the first of a series that appears with it, and one 500 is one too many.
  for (const status_code of ['200', '500']) metrics.httpRequests({ method: 'POST', route: '/tool-calls', status_code });
  return ({ method: sent, route, status, seconds }) => {
    const method = METHODS.has(sent) ? sent : '_other';
    const series = known.get(route)?.get(method)?.get(status) ?? begin(method, route, status);
    series.requests.count += 1;
    series.duration.observe(seconds);
  };
};
