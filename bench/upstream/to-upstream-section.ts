import { type Summary, summarise } from '../summarise.ts';
import { toCells, toTable } from '../to-table.ts';
import type { UpstreamKind, UpstreamSeries } from './measure-upstream.ts';

const NAMES = {
  succeeding: 'inside the service',
  over_stdio: 'MCP server, stdio',
  over_http: 'MCP server, Streamable HTTP',
  over_openapi: 'OpenAPI import',
} as const satisfies Record<UpstreamKind, string>;

const MS_DIGITS = 3;

/** The part of the report about upstreams: what a call costs more because its tool is in another process. */
export const toUpstreamSection = (series: readonly UpstreamSeries[]): readonly string[] => [
  '## Upstreams: one call at a time',
  toTable(
    ['echo', 'p50 ms', 'p99 ms', 'added p50 ms', 'lowest', 'highest'],
    series.map(({ name, timings }) => {
      const middle = (pick: (timing: (typeof timings)[number]) => number): string =>
        summarise(timings.map(pick)).median.toFixed(MS_DIGITS);
      const own = [NAMES[name], middle(({ p50 }) => p50), middle(({ p99 }) => p99)];
      const inside = name === 'succeeding' ? null : insideOf(series);
      return inside === null
        ? [...own, '', '', '']
        : [
            ...own,
            ...toCells(
              toAdded(timings, inside.timings, ({ p50 }) => p50),
              MS_DIGITS,
            ),
          ];
    }),
  ),
  '## Upstreams: full load',
  toTable(
    ['echo', 'calls/s measured', 'core busy', 'CPU µs a call', 'added CPU µs', 'lowest', 'highest', 'p50 ms', 'p99 ms'],
    series.map(({ name, runs }) => {
      const middle = (pick: (run: (typeof runs)[number]) => number): number => summarise(runs.map(pick)).median;
      const inside = name === 'succeeding' ? null : insideOf(series);
      const added =
        inside === null
          ? ['', '', '']
          : toCells(
              toAdded(runs, inside.runs, ({ cpuMicrosPerBatch }) => cpuMicrosPerBatch),
              0,
            );
      return [
        NAMES[name],
        middle(({ batchesPerSecond }) => batchesPerSecond).toFixed(0),
        `${(middle(({ busy }) => busy) * 100).toFixed(0)} %`,
        middle(({ cpuMicrosPerBatch }) => cpuMicrosPerBatch).toFixed(0),
        ...added,
        middle(({ p50 }) => p50).toFixed(0),
        middle(({ p99 }) => p99).toFixed(0),
      ];
    }),
  ),
];

const insideOf = (series: readonly UpstreamSeries[]): UpstreamSeries | null =>
  series.find(({ name }) => name === 'succeeding') ?? null;

/** Difference round by round. */
const toAdded = <T>(one: readonly T[], other: readonly T[], pick: (run: T) => number): Summary =>
  summarise(
    one.flatMap((run, round) => {
      const beside = other[round];
      return beside === undefined ? [] : [pick(run) - pick(beside)];
    }),
  );
