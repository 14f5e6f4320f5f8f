import { toFilesSection } from './files/to-files-section.ts';
import { toFormatsSection } from './formats/to-formats-section.ts';
import { type IsolationMeasured, toIsolationSections } from './isolation/to-isolation-sections.ts';
import { toMcpSection } from './mcp/to-mcp-section.ts';
import type { EdgesMeasured } from './measure-edges.ts';
import type { Series } from './measure-servers.ts';
import type { Starts } from './measure-start.ts';
import { toNotesSection } from './notes/to-notes-section.ts';
import { COMPARED_TO } from './options.ts';
import { type SessionsMeasured, toSessionSections } from './sessions/to-session-sections.ts';
import { summarise, toPairwise } from './summarise.ts';
import { MAX_FIRST_ANSWER_MS, MAX_IDLE_MB, RATIO_TARGETS } from './targets.ts';
import type { TelemetrySeries } from './telemetry/measure-telemetry.ts';
import { toTelemetrySection } from './telemetry/to-telemetry-section.ts';
import { toCells, toTable, toVerdict } from './to-table.ts';
import { toUpstreamSection } from './upstream/to-upstream-section.ts';

export type Measured = {
  readonly series: readonly Series[];
  /** null where they were not measured. */
  readonly starts: Starts | null;
  readonly isolation: IsolationMeasured;
  readonly sessions: SessionsMeasured | null;
  readonly telemetry: readonly TelemetrySeries[];
  readonly edges: EdgesMeasured;
  /** When, where, of what and how: a line each. */
  readonly settings: readonly string[];
};

const NAMES = {
  bare: '(a) bare Fastify route',
  embedded: '(b) service, embedded store',
  redis: '(c) service, Redis',
  failing: '(d) service, failing calls',
} as const;

const RATIO_NAMES = { embedded: '(b) to (a)', redis: '(c) to (a)', failing: '(d) to (b)' } as const;

/** The whole report as Markdown, readable as plain text, too. */
export const toReport = ({ series, starts, isolation, sessions, telemetry, edges, settings }: Measured): string =>
  [
    '# Bench results',
    'Written by `npm run bench`. What the figures mean, and what they leave out: [README](README.md).',
    settings.map((line) => `- ${line}`).join('\n'),
    ...(series.length === 0
      ? []
      : ['## Ratios', toRatioTable(series), ...toWarnings(series), '## Servers', toServerTable(series)]),
    ...(starts === null ? [] : ['## At rest', toRestTable(starts)]),
    ...toIsolationSections(isolation),
    ...(sessions === null ? [] : toSessionSections(sessions)),
    ...(telemetry.length === 0 ? [] : toTelemetrySection(telemetry)),
    ...toEdgeSections(edges),
  ].join('\n\n');

const toEdgeSections = ({ formats, mcp, upstreams, notes, files }: EdgesMeasured): readonly string[] => [
  ...(formats === null ? [] : toFormatsSection(formats)),
  ...(mcp === null ? [] : toMcpSection(mcp)),
  ...(upstreams === null ? [] : toUpstreamSection(upstreams)),
  ...(notes === null ? [] : toNotesSection(notes)),
  ...(files === null ? [] : toFilesSection(files)),
];

const toWarnings = (series: readonly Series[]): readonly string[] =>
  series.flatMap(({ warning }) => (warning === null ? [] : [`**Warning:** ${warning}`]));

const toServerTable = (series: readonly Series[]): string =>
  toTable(
    ['server', 'calls', 'batches/s', 'calls/s', 'CPU µs a batch', 'core busy', 'p50 ms', 'p99 ms'],
    series.map(({ contender, calls, runs }) => {
      const middle = (pick: (run: Series['runs'][number]) => number): number => summarise(runs.map(pick)).median;
      const batches = middle(({ batchesPerSecond }) => batchesPerSecond);
      const busy = middle((run) => run.busy);
      return [
        NAMES[contender],
        String(calls),
        batches.toFixed(0),
        (batches * calls).toFixed(0),
        middle(({ cpuMicrosPerBatch }) => cpuMicrosPerBatch).toFixed(1),
        `${(busy * 100).toFixed(0)} %`,
        middle(({ p50 }) => p50).toFixed(0),
        middle(({ p99 }) => p99).toFixed(0),
      ];
    }),
  );

const toRatioTable = (series: readonly Series[]): string =>
  toTable(
    ['ratio', 'calls', 'throughput', 'lowest', 'highest', 'by CPU time', 'lowest', 'highest', 'target', ''],
    series.flatMap((one) => {
      if (one.contender === 'bare') return [];
      const reference = COMPARED_TO[one.contender];
      const other = series.find(({ contender, calls }) => contender === reference && calls === one.calls);
      if (other === undefined) return [];
      const speed = toPairwise(one.runs, other.runs, ({ batchesPerSecond }) => batchesPerSecond);
      const work = toPairwise(other.runs, one.runs, ({ cpuMicrosPerBatch }) => cpuMicrosPerBatch);
      const target = RATIO_TARGETS[one.contender][one.calls];
      const cells = [...toCells(speed, 2), ...toCells(work, 2), `≥ ${target}`, toVerdict(speed.median >= target)];
      return [[RATIO_NAMES[one.contender], String(one.calls), ...cells]];
    }),
  );

const toRestTable = ({ first, later }: Starts): string => {
  const answer = summarise(later.map(({ firstAnswerMs }) => firstAnswerMs));
  const resident = summarise(later.map(({ residentMb }) => residentMb));
  const idle = summarise(later.map(({ idleMb }) => idleMb));
  return toTable(
    ['figure', 'median', 'lowest', 'highest', 'target', ''],
    [
      [
        'start to first answer, ms',
        ...toCells(answer, 0),
        `≤ ${MAX_FIRST_ANSWER_MS}`,
        toVerdict(answer.median <= MAX_FIRST_ANSWER_MS),
      ],
      ['the same, nothing compiled yet, ms', ...toCells(summarise([first.firstAnswerMs]), 0), '', ''],
      ['memory after the first answer, MB', ...toCells(resident, 0), '', ''],
      [
        'memory after an idle second, MB',
        ...toCells(idle, 0),
        `≤ ${MAX_IDLE_MB}`,
        toVerdict(idle.median <= MAX_IDLE_MB),
      ],
      ['the same, nothing compiled yet, MB', ...toCells(summarise([first.idleMb]), 0), '', ''],
    ],
  );
};
