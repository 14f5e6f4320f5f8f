import type { Run } from '../measure-load.ts';
import { type Summary, summarise } from '../summarise.ts';
import { MAX_ADDED_MS, MAX_ANSWER_AFTER_DEADLINE_MS, MAX_WHOLE_AGAIN_MS, MIN_ISOLATED_PER_SECOND } from '../targets.ts';
import { toCells, toTable, toVerdict } from '../to-table.ts';
import type { Isolated } from './measure-isolated.ts';
import type { Kills } from './measure-kill.ts';
import type { Latency, TimingPair } from './measure-latencies.ts';
import { HOSTS, type Overload } from './measure-overload.ts';
import type { Throughput } from './measure-throughput.ts';
import { percentileOf } from './percentile.ts';
import { toOverloadTable } from './to-overload-table.ts';

/** null where a part was not measured. */
export type IsolationMeasured = {
  readonly isolated: Isolated | null;
  readonly overloads: readonly Overload[] | null;
  readonly kills: Kills | null;
};

/** The parts of the report about tool hosts. */
export const toIsolationSections = ({ isolated, overloads, kills }: IsolationMeasured): readonly string[] => [
  ...(isolated === null
    ? []
    : [
        '## Isolated calls: time of a batch on one connection, ms',
        toLatencyTable(isolated.latencies),
        '## Isolated calls at full load',
        toThroughputTable(isolated.throughputs),
      ]),
  ...(overloads ?? []).flatMap((overload) => [
    `## Overload: ${HOSTS} hosts, calls of ${overload.sleepMs} ms, deadline ${overload.deadlineMs} ms`,
    toOverloadTable(overload),
  ]),
  ...(kills === null ? [] : [`## ${kills.wholeAfterMs.length} calls that never end, ms`, toKillTable(kills)]),
];

const PLACEMENTS = { with_service: "the service's", with_load: "the load's" } as const;

const toLatencyTable = (latencies: readonly Latency[]): string =>
  toTable(
    [
      'core of the hosts',
      'calls',
      'in-process p50',
      'p99',
      'isolated p50',
      'p99',
      'added p50',
      'lowest',
      'highest',
      'target',
      '',
    ],
    latencies.map(({ placement, calls, rounds }) => {
      const middle = (pick: (pair: TimingPair) => number): Summary => summarise(rounds.map(pick));
      const added = middle(({ inProcess, isolated }) => isolated.p50 - inProcess.p50);
      return [
        PLACEMENTS[placement],
        String(calls),
        middle(({ inProcess }) => inProcess.p50).median.toFixed(3),
        middle(({ inProcess }) => inProcess.p99).median.toFixed(3),
        middle(({ isolated }) => isolated.p50).median.toFixed(3),
        middle(({ isolated }) => isolated.p99).median.toFixed(3),
        ...toCells(added, 3),
        // For one call: a batch has up to sixteen of them in as many hosts at once.
        ...(calls === 1 ? [`≤ ${MAX_ADDED_MS}`, toVerdict(added.median <= MAX_ADDED_MS)] : ['', '']),
      ];
    }),
  );

const HOSTS_WORDS = { kept: 'kept for ever', recycled: 'replaced after 10 000 calls' } as const;

const toThroughputTable = (throughputs: readonly Throughput[]): string =>
  toTable(
    [
      'hosts',
      'calls',
      'calls/s measured',
      'core busy',
      'CPU µs a call',
      'calls/s by CPU time',
      'lowest',
      'highest',
      'target',
      '',
    ],
    throughputs.map(({ hosts, calls, runs }) => {
      const byTime = summarise(runs.map((run) => (1_000_000 * calls) / run.cpuMicrosPerBatch));
      const middle = (pick: (run: Run) => number): number => summarise(runs.map(pick)).median;
      return [
        HOSTS_WORDS[hosts],
        String(calls),
        middle(({ batchesPerSecond }) => batchesPerSecond * calls).toFixed(0),
        `${(middle(({ busy }) => busy) * 100).toFixed(0)} %`,
        middle(({ cpuMicrosPerBatch }) => cpuMicrosPerBatch / calls).toFixed(1),
        ...toCells(byTime, 0),
        `≥ ${MIN_ISOLATED_PER_SECOND}`,
        toVerdict(byTime.median >= MIN_ISOLATED_PER_SECOND),
      ];
    }),
  );

const toKillTable = ({ answeredAfterMs, wholeAfterMs }: Kills): string => {
  const row = (title: string, times: readonly number[], most: number): readonly string[] => {
    const sorted = times.toSorted((one, other) => one - other);
    const p99 = percentileOf(sorted, 0.99);
    const cells = [percentileOf(sorted, 0.5), p99, percentileOf(sorted, 1)].map((ms) => ms.toFixed(1));
    return [title, ...cells, `p99 ≤ ${most}`, toVerdict(p99 <= most)];
  };
  return toTable(
    ['figure', 'p50', 'p99', 'highest', 'target', ''],
    [
      row('from the deadline to the answer', answeredAfterMs, MAX_ANSWER_AFTER_DEADLINE_MS),
      row('from the answer to as many idle hosts as before', wholeAfterMs, MAX_WHOLE_AGAIN_MS),
    ],
  );
};
