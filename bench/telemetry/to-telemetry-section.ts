import { summarise, toPairwise } from '../summarise.ts';
import { BATCH_SIZES, MIN_LEFT_BY_METRICS_AND_LOG } from '../targets.ts';
import { toCells, toTable, toVerdict } from '../to-table.ts';
import type { ContenderName } from './contenders.ts';
import type { TelemetrySeries } from './measure-telemetry.ts';

const NAMES = {
  nothing: 'nothing counted or logged',
  metrics: 'metrics',
  metrics_and_log: 'metrics and log (default)',
  traces_of_a_tenth: 'the same, and a tenth traced',
  traces_of_all: 'the same, and all traced',
} as const satisfies Record<ContenderName, string>;

/** The part of the report about telemetry: what is left of the throughput without any. */
export const toTelemetrySection = (series: readonly TelemetrySeries[]): readonly string[] => [
  '## Telemetry: throughput to that without any',
  toTable(
    [
      'service',
      'calls',
      'batches/s',
      'CPU µs a batch',
      'left',
      'lowest',
      'highest',
      'by CPU time',
      'lowest',
      'highest',
      'target',
      '',
    ],
    BATCH_SIZES.flatMap((calls) => {
      const without = series.find((one) => one.name === 'nothing' && one.calls === calls);
      return series.filter((one) => one.calls === calls).map((one) => toRow(one, without));
    }),
  ),
];

const toRow = ({ name, calls, runs }: TelemetrySeries, without: TelemetrySeries | undefined): readonly string[] => {
  const middle = (pick: (run: (typeof runs)[number]) => number): number => summarise(runs.map(pick)).median;
  const figures = [
    NAMES[name],
    String(calls),
    middle(({ batchesPerSecond }) => batchesPerSecond).toFixed(0),
    middle(({ cpuMicrosPerBatch }) => cpuMicrosPerBatch).toFixed(1),
  ];
  if (without === undefined || name === 'nothing') return [...figures, '', '', '', '', '', '', '', ''];
  const speed = toPairwise(runs, without.runs, ({ batchesPerSecond }) => batchesPerSecond);
  const work = toPairwise(without.runs, runs, ({ cpuMicrosPerBatch }) => cpuMicrosPerBatch);
  const verdict =
    name === 'metrics_and_log'
      ? [`≥ ${MIN_LEFT_BY_METRICS_AND_LOG}`, toVerdict(speed.median >= MIN_LEFT_BY_METRICS_AND_LOG)]
      : ['', ''];
  return [...figures, ...toCells(speed, 2), ...toCells(work, 2), ...verdict];
};
