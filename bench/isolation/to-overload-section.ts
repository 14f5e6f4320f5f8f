import { toShareSent } from '../paced/offer-load.ts';
import { showOthers, toOthers } from '../paced/paced-plan.ts';
import { MIN_GOODPUT } from '../targets.ts';
import { toTable, toVerdict } from '../to-table.ts';
import { HOSTS, type Overload, type OverloadStretch as Stretch } from './measure-overload.ts';

type Row = {
  readonly title: string;
  readonly toCell: (stretch: Stretch) => string;
  readonly target?: string;
  readonly isMet?: (stretch: Stretch) => boolean;
};

// A generator that cannot keep its rate measures something else.
const LEAST_SENT = 0.95;
const EXPECTED = ['right', 'HTTP 503', 'overloaded'];

const perSecond = (count: number, { seconds }: Stretch): string => (count / seconds).toFixed(0);

/** The part of the report about overload. */
export const toOverloadSection = (overloads: readonly Overload[]): readonly string[] =>
  overloads.flatMap((overload) => [
    `## Overload: ${HOSTS} hosts, calls of ${overload.sleepMs} ms, deadline ${overload.deadlineMs} ms`,
    toOverloadTable(overload),
  ]);

/** What became of the calls at once and at ten times the peak; the verdicts are on ten times. */
const toOverloadTable = (overload: Overload): string => {
  const { peakPerSecond, stretches, afterPerSecond, memory } = overload;
  const tenfold = stretches.at(-1);
  const columns = stretches.map(({ times }) => `${times} × peak`);
  const rows = toRows(overload).map(({ title, toCell, target, isMet }) => [
    title,
    ...stretches.map(toCell),
    target ?? '',
    tenfold === undefined || isMet === undefined ? '' : toVerdict(isMet(tenfold)),
  ]);
  const single = [
    ['peak before, closed loop, successes/s', peakPerSecond.toFixed(0)],
    ['the same afterwards', afterPerSecond.toFixed(0)],
    ['memory of the service before, MB', memory.beforeMb.toFixed(0)],
    ['highest', memory.highestMb.toFixed(0)],
    ['two seconds afterwards', memory.afterMb.toFixed(0)],
  ];
  return [toTable(['figure', ...columns, 'target', ''], rows), toTable(['figure', ''], single)].join('\n\n');
};

const toRows = ({ peakPerSecond, deadlineMs }: Overload): readonly Row[] => {
  const toGoodput = ({ result, seconds }: Stretch): number => result.answeredInTime / seconds / peakPerSecond;
  return [
    { title: 'calls sent/s', toCell: (stretch) => perSecond(stretch.result.sent, stretch) },
    {
      title: 'share of the rate that was sent',
      toCell: (stretch) => toShareSent(stretch).toFixed(2),
      target: `≥ ${LEAST_SENT}`,
      isMet: (stretch) => toShareSent(stretch) >= LEAST_SENT,
    },
    {
      title: 'sent late, p50 and p99 ms',
      toCell: ({ result }) => `${result.latenessP50.toFixed(1)}, ${result.latenessP99.toFixed(1)}`,
    },
    { title: 'connections', toCell: ({ result }) => String(result.connections) },
    { title: 'successes/s', toCell: (stretch) => perSecond(stretch.result.answeredInTime, stretch) },
    {
      title: 'goodput: the same to the peak',
      toCell: (stretch) => toGoodput(stretch).toFixed(2),
      target: `≥ ${MIN_GOODPUT}`,
      isMet: (stretch) => toGoodput(stretch) >= MIN_GOODPUT,
    },
    { title: 'successes, p50 ms', toCell: ({ result }) => result.p50.toFixed(0) },
    {
      title: 'successes, p99 ms',
      toCell: ({ result }) => result.p99.toFixed(0),
      target: `≤ ${deadlineMs}`,
      isMet: ({ result }) => result.p99 <= deadlineMs,
    },
    {
      title: '503 before the body was read, /s',
      toCell: (stretch) => perSecond(stretch.result.outcomes['HTTP 503'] ?? 0, stretch),
    },
    {
      title: '`overloaded` results/s',
      toCell: (stretch) => perSecond(stretch.result.outcomes['overloaded'] ?? 0, stretch),
    },
    {
      title: 'anything else, in all',
      toCell: ({ result }) => showOthers(toOthers(result, EXPECTED)),
      target: '0',
      isMet: ({ result }) => toOthers(result, EXPECTED).length === 0,
    },
    { title: 'service busy', toCell: ({ busy }) => `${(busy * 100).toFixed(0)} %` },
  ];
};
