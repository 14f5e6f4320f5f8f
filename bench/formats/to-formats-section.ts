import { summarise, toPairwise } from '../summarise.ts';
import { BATCH_SIZES, MIN_RAW_TO_NATIVE } from '../targets.ts';
import { toCells, toTable, toVerdict } from '../to-table.ts';
import type { FormatForm, FormatSeries } from './measure-formats.ts';

const NAMES = {
  native: 'native',
  anthropic_named: 'Anthropic, raw, `format` given',
  anthropic_detected: 'Anthropic, raw, detected',
  chat_detected: 'OpenAI chat, raw, detected',
  anthropic_and_results: 'Anthropic, results and messages',
  chat_and_results: 'OpenAI chat, results and messages',
} as const satisfies Record<FormatForm, string>;

const WITH_TARGET: ReadonlySet<FormatForm> = new Set(['anthropic_named', 'anthropic_detected', 'chat_detected']);

/** The part of the report about the formats of providers: the same calls, to those of the service's own envelope. */
export const toFormatsSection = (series: readonly FormatSeries[]): readonly string[] => [
  '## Provider formats: throughput to native',
  toTable(
    [
      'batch',
      'calls',
      'bytes sent',
      'bytes answered',
      'batches/s',
      'CPU µs a batch',
      'to native',
      'lowest',
      'highest',
      'by CPU time',
      'lowest',
      'highest',
      'target',
      '',
    ],
    BATCH_SIZES.flatMap((calls) => {
      const native = series.find((one) => one.name === 'native' && one.calls === calls);
      return series.filter((one) => one.calls === calls).map((one) => toRow(one, native));
    }),
  ),
];

const toRow = ({ name, calls, sizes, runs }: FormatSeries, native: FormatSeries | undefined): readonly string[] => {
  const middle = (pick: (run: (typeof runs)[number]) => number): number => summarise(runs.map(pick)).median;
  const figures = [
    NAMES[name],
    String(calls),
    String(sizes.request),
    String(sizes.answer),
    middle(({ batchesPerSecond }) => batchesPerSecond).toFixed(0),
    middle(({ cpuMicrosPerBatch }) => cpuMicrosPerBatch).toFixed(1),
  ];
  if (native === undefined || name === 'native') return [...figures, '', '', '', '', '', '', '', ''];
  const speed = toPairwise(runs, native.runs, ({ batchesPerSecond }) => batchesPerSecond);
  const work = toPairwise(native.runs, runs, ({ cpuMicrosPerBatch }) => cpuMicrosPerBatch);
  const verdict = WITH_TARGET.has(name)
    ? [`≥ ${MIN_RAW_TO_NATIVE}`, toVerdict(speed.median >= MIN_RAW_TO_NATIVE)]
    : ['', ''];
  return [...figures, ...toCells(speed, 2), ...toCells(work, 2), ...verdict];
};
