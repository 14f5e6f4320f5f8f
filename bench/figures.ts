import type { LaneFigures } from './measure-lanes.ts';
import { toTable, toVerdict } from './to-table.ts';

/** One line of a table of figures: what was measured, beside what, and what of it is promised. */
export type FigureRow = {
  readonly what: string;
  readonly measured: string;
  readonly comparedTo: string;
  readonly reference: string;
  readonly figure: string;
  readonly target: string;
  readonly verdict: string;
};

export type Figures = { readonly rows: readonly FigureRow[]; readonly lanes: readonly LaneFigures[] };

const toMicros = ({ micros }: LaneFigures): string => `${micros.toFixed(1)} µs`;

/** `share`: how much of the other's batches it answers with the same processor time. `times`: how much more it takes. */
export type Ratio = {
  readonly what: string;
  readonly lane: LaneFigures;
  readonly comparedTo: LaneFigures;
  readonly as: 'share' | 'times';
  readonly target?: number;
};

const KINDS = {
  share: {
    sign: '≥',
    unit: '',
    of: (lane: number, other: number) => other / lane,
    isMet: (is: number, to: number) => is >= to,
  },
  times: {
    sign: '≤',
    unit: ' ×',
    of: (lane: number, other: number) => lane / other,
    isMet: (is: number, to: number) => is <= to,
  },
} as const satisfies Record<Ratio['as'], object>;

export const toRatioRow = ({ what, lane, comparedTo, as, target }: Ratio): FigureRow => {
  const { sign, unit, of, isMet } = KINDS[as];
  const figure = of(lane.micros, comparedTo.micros);
  return {
    what,
    measured: toMicros(lane),
    comparedTo: comparedTo.title,
    reference: toMicros(comparedTo),
    figure: `${figure.toFixed(2)}${unit}`,
    target: target === undefined ? '' : `${sign} ${target.toFixed(2)}${unit}`,
    verdict: [
      ...(target === undefined ? [] : [toVerdict(isMet(figure, target))]),
      ...[lane, comparedTo].flatMap(({ doubt }) => (doubt === null ? [] : [`an estimate: ${doubt}`])),
    ].join(', '),
  };
};

export const toFigureTable = (rows: readonly FigureRow[]): string =>
  toTable(
    ['what', 'measured', 'compared to', 'measured', 'figure', 'target', ''],
    rows.map((row) => [row.what, row.measured, row.comparedTo, row.reference, row.figure, row.target, row.verdict]),
  );

export const toLaneTable = (lanes: readonly LaneFigures[]): string =>
  toTable(
    ['server', 'calls', 'CPU µs a batch, quartile', 'median', 'batches/s', 'p50 ms', 'p99 ms'],
    lanes.map(({ title, calls, micros, medianMicros, batchesPerSecond, p50Ms, p99Ms }) => [
      title,
      String(calls),
      micros.toFixed(1),
      medianMicros.toFixed(1),
      batchesPerSecond.toFixed(0),
      p50Ms?.toFixed(3) ?? '',
      p99Ms?.toFixed(3) ?? '',
    ]),
  );

/** A table of comparisons and one of everything in them, under a title. */
export const toSection = (title: string, { rows, lanes }: Figures): readonly string[] => [
  `## ${title}`,
  toFigureTable(rows),
  '### Every server',
  toLaneTable(lanes),
];
