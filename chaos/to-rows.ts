import { percentileOf } from '../bench/summarise.ts';
import { type Accounts, PROMISE_NAMES, PROMISES } from './accounts.ts';
import type { MemoryTrend } from './sampling.ts';

/** All that is known at the end. */
export type Findings = {
  readonly accounts: Accounts;
  readonly missingTools: readonly string[];
  readonly replicas: number;
  readonly readyAtEnd: number;
  /** Of the worst replica. */
  readonly descriptorsBefore: number;
  readonly descriptorsAfter: number;
  readonly mostDescriptors: number;
  readonly memory: readonly MemoryTrend[];
};

/** A row of the table. `verdict` is empty where nothing is promised. */
export type Row = {
  readonly what: string;
  readonly figure: string;
  readonly limit: string;
  readonly verdict: 'ok' | 'BROKEN' | '';
};

/** So many more than before the load are none that leaked: connections of Redis and of who reads metrics. */
export const DESCRIPTORS_SLACK = 16;
// Good calls do not run where a replica stops or a queue is full. If more of them did not, the rest would show little.
const LEAST_GOOD = 0.8;
// The heap of a young process grows until its first big collections: a short window measures that and no leak, and only
// says that nothing runs away.
const LONG_WINDOW_SECONDS = 70;
const MAX_SLOPE = { long: 20, short: 300 } as const;
// What floods and huge values bring must not pile up. A replica at work has some 200 MB.
const MAX_RESIDENT_MB = 500;

/** One row for each thing promised, then what was counted. */
export const toRows = (findings: Findings): readonly Row[] => [
  ...PROMISE_NAMES.map((name) => none(PROMISES[name], findings.accounts.offencesOf(name))),
  ...toMeasuredRows(findings),
  ...findings.memory.flatMap(toMemoryRows),
  ...toCountRows(findings.accounts),
];

const promise = (what: string, figure: string, limit: string, kept: boolean): Row => ({
  what,
  figure,
  limit,
  verdict: kept ? 'ok' : 'BROKEN',
});

const none = (what: string, count: number): Row => promise(what, String(count), '0', count === 0);

const toMeasuredRows = ({ accounts, ...findings }: Findings): readonly Row[] => {
  // What stands behind a failed call, by the caller's own order to stop there, was not to run.
  const good = accounts.countOf('good calls') - accounts.countOf('good calls not run: not_executed');
  const share = good === 0 ? 0 : accounts.countOf('good calls that succeeded') / good;
  const { missingTools, readyAtEnd, replicas, descriptorsAfter, descriptorsBefore } = findings;
  const more = descriptorsAfter - descriptorsBefore;
  return [
    promise('good calls that succeeded', percent(share), `≥ ${percent(LEAST_GOOD)}`, share >= LEAST_GOOD),
    none('batches that no replica took', accounts.countOf('batches given up: no replica took them')),
    none(`tools of chaos/tools not offered${missingTools.map((name) => ` ${name}`).join('')}`, missingTools.length),
    promise(
      'replicas ready, with Redis, after the load',
      String(readyAtEnd),
      String(replicas),
      readyAtEnd === replicas,
    ),
    promise(
      'file descriptors at rest: after less before',
      `${more} (${descriptorsBefore} before, ${findings.mostDescriptors} at most)`,
      `≤ ${DESCRIPTORS_SLACK}`,
      more <= DESCRIPTORS_SLACK,
    ),
  ];
};

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

const toMemoryRows = ({ replica, mbPerMinute, seconds, lastMb, highestMb }: MemoryTrend): readonly Row[] => {
  const limit = MAX_SLOPE[seconds >= LONG_WINDOW_SECONDS ? 'long' : 'short'];
  const slope = `memory slope of ${replica}, MB/min`;
  const figure = mbPerMinute === null ? 'too short to tell' : `${mbPerMinute.toFixed(1)} over ${seconds.toFixed(0)} s`;
  return [
    mbPerMinute === null ? told(slope, figure) : promise(slope, figure, `≤ ${limit}`, mbPerMinute <= limit),
    promise(
      `memory of ${replica}, MB`,
      `${highestMb.toFixed(0)} at most, ${lastMb.toFixed(0)} at the end`,
      `≤ ${MAX_RESIDENT_MB}`,
      highestMb <= MAX_RESIDENT_MB,
    ),
  ];
};

const toCountRows = (accounts: Accounts): readonly Row[] => {
  const count = (what: string): Row => told(what, String(accounts.countOf(what)));
  const grouped = (title: string, beginning: string): Row =>
    told(
      title,
      accounts
        .startingWith(beginning)
        .filter(([, times]) => times > 0)
        .map(([what, times]) => `${times} ${what.slice(beginning.length)}`)
        .join(', '),
    );
  const { inline, hosted, batches } = accounts.durations;
  return [
    ...['requests', 'malformed requests', 'batches accepted', 'calls', 'results'].map(count),
    ...['good calls', 'killer calls', 'batches left by their client', 'batches not sent: too many open'].map(count),
    grouped('HTTP status', 'status '),
    grouped('no answer', 'no answer: '),
    grouped('codes', 'code '),
    grouped('good calls not run', 'good calls not run: '),
    grouped('killers', 'killed '),
    grouped('write calls answered', 'write calls answered '),
    ...['keyed batches', 'keyed results asked for again', 'batches lost with a killed replica'].map(count),
    count('nameless processes that outlived a killed replica'),
    grouped('keyed attempts', 'keyed attempts '),
    grouped('keyed answers by request id', 'keyed answers by request id: '),
    grouped('keyed writes at last', 'keyed writes at last '),
    grouped('sessions whose every round fails: calls that ran', 'failing sessions: '),
    count('failing sessions in Redis throughout'),
    ...['failing sessions held against their budget', 'failing sessions left out: Redis was away'].map(count),
    ...['sessions looked at', 'calls in their journals'].map(count),
    grouped('error lines in the logs', 'error lines: '),
    grouped('faults', 'fault '),
    told('good built-in calls, p50 / p99 ms', toPercentiles(inline)),
    told('good isolated calls, p50 / p99 ms', toPercentiles(hosted)),
    told('batches as the client saw them, p50 / p99 ms', toPercentiles(batches)),
  ];
};

const told = (what: string, figure: string): Row => ({ what, figure: figure || '–', limit: '', verdict: '' });

const toPercentiles = (durations: readonly number[]): string => {
  if (durations.length === 0) return '';
  const sorted = durations.toSorted((one, other) => one - other);
  const at = (share: number): string => percentileOf(sorted, share).toFixed(1);
  return `${at(0.5)} / ${at(0.99)}`;
};
