import type { LaneFigures } from './measure-lanes.ts';
import { summarise } from './summarise.ts';
import { toTable, toVerdict } from './to-table.ts';

/** Several servers or loads that were compared, each value once for each start of the servers. */
export type FigureRow = {
  readonly what: string;
  readonly as: FigureKind;
  readonly measured: readonly number[];
  /** What it was compared to; '' and no values where it stands for itself. */
  readonly comparedTo: string;
  readonly reference: readonly number[];
  readonly figures: readonly number[];
  readonly target: number | null;
  /** Why the figures are only an estimate. */
  readonly doubts: readonly string[];
};

export type Figures = { readonly rows: readonly FigureRow[]; readonly lanes: readonly LaneFigures[] };

const micros = (value: number): string => `${value.toFixed(1)} µs`;
const thousandths = (value: number): string => `${value.toFixed(3)} ms`;
const share = (value: number): string => value.toFixed(2);
const times = (value: number): string => `${value.toFixed(2)} ×`;
const wholeMs = (value: number): string => `${value.toFixed(0)} ms`;
const wholeMb = (value: number): string => `${value.toFixed(0)} MB`;

/**
 * What a figure is. `share`: how much of the other's batches the same processor time answers. `times`: how much more it
 * takes. `added`: how much longer it is under way. `ms`, `mb`: what was measured itself.
 */
const KINDS = {
  share: { best: 'most', show: share, showTarget: share, showMeasured: micros },
  times: { best: 'least', show: times, showTarget: times, showMeasured: micros },
  added: {
    best: 'least',
    show: (value: number) => `+ ${thousandths(value)}`,
    showTarget: (value: number) => `+ ${value.toFixed(2)} ms`,
    showMeasured: thousandths,
  },
  ms: { best: 'least', show: wholeMs, showTarget: wholeMs, showMeasured: wholeMs },
  mb: { best: 'least', show: wholeMb, showTarget: wholeMb, showMeasured: wholeMb },
} as const;
export type FigureKind = keyof typeof KINDS;

export const showFigure = (as: FigureKind, value: number): string => KINDS[as].show(value);

/** Whether more of such a figure is better. */
export const isMoreBetter = (as: FigureKind): boolean => KINDS[as].best === 'most';

/** Whether a figure is as good as `limit` or better. */
export const reaches = (as: FigureKind, figure: number, limit: number): boolean =>
  isMoreBetter(as) ? figure >= limit : figure <= limit;

const FIGURE_OF = {
  share: (lane: number, other: number) => other / lane,
  times: (lane: number, other: number) => lane / other,
  added: (lane: number, other: number) => lane - other,
} as const satisfies Partial<Record<FigureKind, (lane: number, other: number) => number>>;

export type Comparison = {
  readonly what: string;
  readonly lane: LaneFigures;
  readonly comparedTo: LaneFigures;
  /** On the processor time of a batch; `added` is on the p50 of both, which are timed. */
  readonly as: keyof typeof FIGURE_OF;
  readonly target?: number | undefined;
};

/** A line of one start. */
export const toFigureRow = ({ what, lane, comparedTo, as, target }: Comparison): FigureRow => {
  const pick = (one: LaneFigures): number => (as === 'added' ? (one.p50Ms ?? Number.NaN) : one.micros);
  const [measured, reference] = [pick(lane), pick(comparedTo)];
  return {
    what,
    as,
    measured: [measured],
    comparedTo: comparedTo.title,
    reference: [reference],
    figures: [FIGURE_OF[as](measured, reference)],
    target: target ?? null,
    doubts: [lane, comparedTo].flatMap(({ doubt }) => doubt ?? []),
  };
};

/** The figures of several starts of the same as those of one: rows with the values of all, lanes with their medians. */
export const joinStarts = (starts: readonly Figures[]): Figures => {
  const [first] = starts;
  if (first === undefined) throw new Error('Nothing was started.');
  return {
    rows: first.rows.map((row, at) =>
      joinRows(
        row,
        starts.flatMap(({ rows }) => rows[at] ?? []),
      ),
    ),
    lanes: first.lanes.map((lane, at) =>
      joinLanes(
        lane,
        starts.flatMap(({ lanes }) => lanes[at] ?? []),
      ),
    ),
  };
};

const joinRows = (row: FigureRow, all: readonly FigureRow[]): FigureRow => ({
  ...row,
  measured: all.flatMap(({ measured }) => measured),
  reference: all.flatMap(({ reference }) => reference),
  figures: all.flatMap(({ figures }) => figures),
  doubts: all.flatMap(({ doubts }) => doubts),
});

const joinLanes = (lane: LaneFigures, all: readonly LaneFigures[]): LaneFigures => {
  const medianOf = (pick: (one: LaneFigures) => number | null): number => {
    const values = all.flatMap((one) => pick(one) ?? []);
    return values.length === 0 ? Number.NaN : summarise(values).median;
  };
  return {
    ...lane,
    micros: medianOf((one) => one.micros),
    medianMicros: medianOf((one) => one.medianMicros),
    meanMicros: medianOf((one) => one.meanMicros),
    batchesPerSecond: medianOf((one) => one.batchesPerSecond),
    p50Ms: lane.p50Ms === null ? null : medianOf((one) => one.p50Ms),
    p99Ms: lane.p99Ms === null ? null : medianOf((one) => one.p99Ms),
  };
};

const toCells = ({ what, as, measured, comparedTo, reference, figures, target, doubts }: FigureRow) => {
  const { best, show, showTarget, showMeasured } = KINDS[as];
  const { median, lowest, highest } = summarise(figures);
  return [
    what,
    showMeasured(summarise(measured).median),
    comparedTo,
    reference.length === 0 ? '' : showMeasured(summarise(reference).median),
    reference.length === 0 ? '' : show(median),
    figures.length === 1 ? '' : `${show(lowest)} … ${show(highest)}`,
    target === null ? '' : `${best === 'most' ? '≥' : '≤'} ${showTarget(target)}`,
    [
      ...(target === null ? [] : [toVerdict(reaches(as, median, target))]),
      ...[...new Set(doubts)].map((doubt) => `an estimate: ${doubt}`),
    ].join(', '),
  ];
};

export const toFigureTable = (rows: readonly FigureRow[]): string =>
  toTable(['what', 'measured', 'compared to', 'measured', 'figure', 'of all starts', 'target', ''], rows.map(toCells));

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
