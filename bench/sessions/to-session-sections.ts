import type { Timing } from '../isolation/timing-plan.ts';
import type { Run } from '../measure-load.ts';
import { summarise, toPairwise } from '../summarise.ts';
import { toCells, toTable } from '../to-table.ts';
import type { ContenderName } from './contenders.ts';
import { type Doubt, SESSION_BATCHES, type SessionSeries } from './measure-in-turn.ts';
import type { Live, LiveTiming } from './measure-live.ts';
import { PROFILE_PLANS } from './profiles.ts';

export type SessionsMeasured = { readonly series: readonly SessionSeries[]; readonly live: Live };

const NAMES = {
  redis: 'Redis, a session',
  redis_no_session: 'Redis, no session',
  redis_no_journal: 'Redis, a session, no journal',
  embedded: 'embedded, a session',
  embedded_no_journal: 'embedded, a session, no journal',
  read_unkeyed: 'Redis, read tool',
  read_keyed: 'Redis, read tool, keyed',
  write_unkeyed: 'Redis, write tool',
  write_keyed: 'Redis, write tool, keyed',
} as const satisfies Record<ContenderName, string>;

type Comparison = { readonly title: string; readonly one: ContenderName; readonly other: ContenderName };

const COMPARISONS: readonly Comparison[] = [
  { title: 'Redis: session to none', one: 'redis', other: 'redis_no_session' },
  { title: 'session: Redis to embedded', one: 'redis', other: 'embedded' },
  { title: 'Redis: journal to none', one: 'redis', other: 'redis_no_journal' },
  { title: 'embedded: journal to none', one: 'embedded', other: 'embedded_no_journal' },
  { title: 'read tool: keyed to not', one: 'read_keyed', other: 'read_unkeyed' },
  { title: 'write tool: keyed to not', one: 'write_keyed', other: 'write_unkeyed' },
];

/** The parts of the report about sessions. */
export const toSessionSections = ({ series, live }: SessionsMeasured): readonly string[] => [
  '## Sessions: ratios',
  toRatioTable(series),
  ...toDoubts(series),
  '## Sessions: at full load, and one batch at a time',
  toServerTable(series),
  `## Live sessions in ${live.redis}: bytes of one`,
  toCostTable(live),
  ...toCostWarnings(live),
  `## Live sessions: time of a batch of one call, one at a time, ms`,
  toLiveTable(live),
];

const toRatioTable = (series: readonly SessionSeries[]): string => {
  const find = (name: ContenderName, calls: number): SessionSeries | undefined =>
    series.find((one) => one.name === name && one.calls === calls);
  const rows = COMPARISONS.flatMap(({ title, one: name, other: reference }) =>
    SESSION_BATCHES.flatMap((calls) => {
      const [one, other] = [find(name, calls), find(reference, calls)];
      if (one === undefined || other === undefined) return [];
      const speed = toPairwise(one.runs, other.runs, ({ batchesPerSecond }) => batchesPerSecond);
      const work = toPairwise(other.runs, one.runs, ({ cpuMicrosPerBatch }) => cpuMicrosPerBatch);
      return [[title, String(calls), ...toCells(speed, 2), ...toCells(work, 2), ...toCells(toAdded(one, other), 3)]];
    }),
  );
  const range = ['lowest', 'highest'];
  return toTable(['ratio', 'calls', 'throughput', ...range, 'by CPU time', ...range, 'added p50 ms', ...range], rows);
};

const DOUBTS = {
  too_busy: 'The machine was too busy for the time-outs of Redis, so that sessions were kept elsewhere for a while',
  keys_not_new: 'Not every key was new to a store that could keep it',
} as const satisfies Record<Doubt, string>;

const toDoubts = (series: readonly SessionSeries[]): readonly string[] =>
  (['too_busy', 'keys_not_new'] as const).flatMap((doubt) => {
    const doubtful = series.filter(({ doubts }) => doubts.includes(doubt));
    if (doubtful.length === 0) return [];
    const names = doubtful.map(({ name, calls }) => `${NAMES[name]} (${calls})`).join('; ');
    return [`**Warning:** ${DOUBTS[doubt]}; these figures are only estimates: ${names}.`];
  });

const toAdded = (one: SessionSeries, other: SessionSeries) =>
  summarise(one.timings.map(({ p50 }, round) => p50 - (other.timings[round]?.p50 ?? Number.NaN)));

const toServerTable = (series: readonly SessionSeries[]): string =>
  toTable(
    ['service', 'calls', 'requests/s', 'calls/s', 'CPU µs a batch', 'core busy', 'alone p50 ms', 'p99 ms'],
    series.map(({ name, calls, runs, timings }) => {
      const middle = (pick: (run: Run) => number): number => summarise(runs.map(pick)).median;
      const alone = (pick: (timing: Timing) => number): string => summarise(timings.map(pick)).median.toFixed(3);
      const batches = middle(({ batchesPerSecond }) => batchesPerSecond);
      return [
        NAMES[name],
        String(calls),
        batches.toFixed(0),
        (batches * calls).toFixed(0),
        middle(({ cpuMicrosPerBatch }) => cpuMicrosPerBatch).toFixed(1),
        `${(middle(({ busy }) => busy) * 100).toFixed(0)} %`,
        alone(({ p50 }) => p50),
        alone(({ p99 }) => p99),
      ];
    }),
  );

const toCostTable = ({ costs }: Live): string =>
  toTable(
    ['session', 'sessions', 'used_memory', 'hash', 'journal', 'lines', 'journal a line'],
    costs.map(({ profile, sessions, bytes, hashBytes, journalBytes, journalLines }) => [
      PROFILE_PLANS[profile].title,
      sessions.toFixed(0),
      ...[bytes, hashBytes, journalBytes, journalLines, journalBytes / journalLines].map((value) => value.toFixed(0)),
    ]),
  );

const toCostWarnings = ({ costs }: Live): readonly string[] =>
  costs
    .filter(({ profile, sessions, asked, journalLines }) => {
      const { calls } = PROFILE_PLANS[profile];
      return sessions !== asked || journalLines !== calls;
    })
    .map(
      ({ profile, sessions, asked, journalLines }) =>
        `**Warning:** ${PROFILE_PLANS[profile].title}: ${sessions} of ${asked} sessions were in Redis in the end, with ${journalLines} lines of journal: it was away for part of the time, so these figures are only an estimate.`,
    );

const toLiveTable = ({ few, many, rounds }: Live): string => {
  const middle = (pick: (round: LiveTiming) => number): string => summarise(rounds.map(pick)).median.toFixed(3);
  const added = summarise(rounds.map((round) => round.many.p50 - round.few.p50));
  return toTable(
    ['live sessions', 'p50', 'p99', 'added p50', 'lowest', 'highest'],
    [
      [String(few), middle((round) => round.few.p50), middle((round) => round.few.p99), '', '', ''],
      [
        String(many),
        middle((round) => round.many.p50),
        middle((round) => round.many.p99),
        ...[added.median, added.lowest, added.highest].map((value) => value.toFixed(3)),
      ],
    ],
  );
};
