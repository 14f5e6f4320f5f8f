import { MAX_ADDED_BY_WAITERS_MS, MAX_MB_OF_WAITING_CALLS, MIN_SHARE_OF_IDEAL_THROUGHPUT } from '../targets.ts';
import { toTable, toVerdict } from '../to-table.ts';
import type { Overhead } from './measure-overhead.ts';
import { CALL_MS, type Throughput } from './measure-throughput.ts';
import type { OthersState, Waiters } from './measure-waiters.ts';
import type { Waiting } from './measure-waiting.ts';
import { CONCURRENCY } from './start-queued.ts';

export type PendingFigures = {
  readonly throughput: readonly Throughput[];
  readonly overhead: readonly Overhead[];
  readonly waiting: readonly Waiting[];
  readonly waiters: Waiters;
};

/** The paragraphs of the part of the report. */
export const toPendingSection = ({ throughput, overhead, waiting, waiters }: PendingFigures): readonly string[] => [
  '## Calls that outlive their requests',
  `### Calls of ${CALL_MS} ms, ${CONCURRENCY} at once in each worker`,
  toThroughputTable(throughput),
  '### One call at a time',
  toOverheadTable(overhead),
  '### Calls that wait',
  toWaitingTable(waiting),
  `### ${waiters.polls} long polls and ${waiters.streams} streams`,
  toWaitersTable(waiters),
  toHeldText(waiters),
];

const toThroughputTable = (rows: readonly Throughput[]): string =>
  toTable(
    [
      'workers',
      'calls/s',
      'ideal',
      'share',
      'target',
      '',
      'p50 ms',
      'p99 ms',
      'µs service',
      'µs workers',
      'µs Redis',
      'refused',
    ],
    rows.map(({ workers, callsPerSecond, idealPerSecond, took, micros, away }) => [
      String(workers),
      callsPerSecond.toFixed(0),
      String(idealPerSecond),
      (callsPerSecond / idealPerSecond).toFixed(3),
      `≥ ${MIN_SHARE_OF_IDEAL_THROUGHPUT.toFixed(2)}`,
      toVerdict(callsPerSecond / idealPerSecond >= MIN_SHARE_OF_IDEAL_THROUGHPUT),
      took.p50.toFixed(0),
      took.p99.toFixed(0),
      micros.api.toFixed(0),
      micros.workers.toFixed(0),
      micros.redis.toFixed(0),
      String(away),
    ]),
  );

const toOverheadTable = (rows: readonly Overhead[]): string =>
  toTable(
    ['', 'begun p50 ms', 'p99', 'answered p50 ms', 'p99', 'µs service', 'µs worker', 'µs Redis'],
    rows.map(({ title, untilBegun, sinceEnded, micros }) => [
      title,
      untilBegun.p50.toFixed(2),
      untilBegun.p99.toFixed(2),
      sinceEnded.p50.toFixed(2),
      sinceEnded.p99.toFixed(2),
      micros.api.toFixed(0),
      micros.worker?.toFixed(0) ?? '',
      micros.redis?.toFixed(0) ?? '',
    ]),
  );

const toWaitingTable = (rows: readonly Waiting[]): string =>
  toTable(
    ['', 'calls', 'service holds MB', 'Redis MB', 'together', 'target', '', 'grew by MB'],
    rows.map(({ title, calls, heldMb, residentMb, redisMb }) => {
      const together = heldMb + (redisMb ?? 0);
      return [
        title,
        String(calls),
        heldMb.toFixed(1),
        redisMb?.toFixed(1) ?? '',
        together.toFixed(1),
        `< ${MAX_MB_OF_WAITING_CALLS}`,
        toVerdict(together < MAX_MB_OF_WAITING_CALLS),
        residentMb.toFixed(0),
      ];
    }),
  );

const toWaitersTable = ({ before, beside }: Waiters): string => {
  const added = beside.took.p99 - before.took.p99;
  return [
    toTable(
      ['', 'another call p50 ms', 'p99', 'most', 'idle: service', 'Redis', 'service MB'],
      [before, beside].map(toOthersRow),
    ),
    `The p99 of another call: ${added.toFixed(2)} ms more, target ≤ ${MAX_ADDED_BY_WAITERS_MS} ms: ${toVerdict(added <= MAX_ADDED_BY_WAITERS_MS)}.`,
  ].join('\n\n');
};

const toOthersRow = ({ title, took, idleShare, residentMb }: OthersState): readonly string[] => [
  title,
  took.p50.toFixed(2),
  took.p99.toFixed(2),
  took.most.toFixed(1),
  `${(idleShare.service * 100).toFixed(1)} % of a core`,
  `${(idleShare.redis * 100).toFixed(1)} %`,
  residentMb.toFixed(0),
];

const toHeldText = ({ held }: Waiters): string =>
  [
    `At the end ${held.polls} long polls and ${held.streams} streams were open;`,
    `${held.pollsAgain} polls had been answered 202 and asked again, and ${held.heartbeats} heartbeats had come.`,
    held.complaints.length === 0
      ? 'Nothing else happened to any of them.'
      : `**Complaints**: ${held.complaints.join('; ')}`,
  ].join(' ');
