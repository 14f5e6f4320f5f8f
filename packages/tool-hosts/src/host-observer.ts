import { basename } from 'node:path';
import type { CallObserver } from 'recourse-server/executor/call-observer';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createLineLimiter } from 'recourse-server/telemetry/repeated-lines';
import type { Death, Offence, RestartReason } from './classify-death.ts';
import type { DirectoryLog } from './directory/file-versions.ts';
import type { DroppedReason } from './host-conversation.ts';

type HostLog = Readonly<Record<'debug' | 'info' | 'warn', DirectoryLog['warn']>>;

/** What is counted into, and written to. */
export type HostObserverParts = {
  readonly metrics: Metrics;
  readonly log: HostLog;
  /** Milliseconds that never step back. */
  readonly now: () => number;
  readonly lateResult: CallObserver['lateResult'];
};

// What a team's tools print is for the team, and must not drown what the service has to say.
const LINES_A_SECOND = 100;
const SECOND_MS = 1000;
// A file that leaks fills one host after the other.
const GROWTH_MS = 60_000;
// A death that a person should look into; the others are the daily life of a pool.
const ALARMING: ReadonlySet<RestartReason> = new Set(['oom', 'crash', 'exit', 'flood']);

export type IsolationObserver = ReturnType<typeof createIsolationObserver>;

/** Metrics and log lines of what tool hosts do beside answering. `file`: the absolute path of a tool file. */
export const createIsolationObserver = ({ metrics, log, now, lateResult }: HostObserverParts) => {
  const limitLines = createLineLimiter(now, SECOND_MS);
  const limitGrowth = createLineLimiter(now, GROWTH_MS);
  // A tool that throws something else each time must not fill the log either.
  const mayReport = createAllowance(now, () => undefined);
  const mayPrint = createAllowance(now, (leftOut) => log.info({ lines: leftOut }, 'tool output suppressed'));
  const logOnce = (level: keyof HostLog, key: string, fields: object, message: string): void =>
    limitLines(key, () => {
      if (mayReport()) log[level]({ ...fields }, message);
    });
  return {
    /** `path`: null where the host ran no file. `restart`: why it must be replaced; null where it need not be. */
    hostEnded: (path: string | null, death: Death, restart: RestartReason | null): void => {
      const file = path === null ? null : basename(path);
      if (restart !== null) metrics.countToolProcessRestart(restart, file);
      if (restart === 'growth')
        limitGrowth(`${file}`, (leftOut) =>
          log.warn({ file, count: leftOut + 1 }, 'tool host replaced: its memory grew and was not released'),
        );
      const fields = { file, restart, ...listDeathFields(death) };
      if (restart !== null && ALARMING.has(restart)) logOnce('warn', `${path} ${restart}`, fields, 'tool host ended');
      else log.debug(fields, 'tool host ended');
    },
    messageDropped: (reason: DroppedReason): void => {
      metrics.toolMessagesDropped[reason].count += 1;
    },
    /** A tool threw outside of a call, mostly after its call had been answered. */
    strayThrown: (tool: string | null, file: string, thrown: unknown): void => {
      lateResult(tool ?? '_unknown', 'threw');
      const causes = describeCauses(thrown);
      const fields = { tool, file: basename(file), causes };
      logOnce('warn', `${file} ${causes[0]?.message}`, fields, 'tool threw outside of a call');
    },
    /** A tool changed what calls of its process share: that process is replaced. */
    hostUnusable: (tool: string | null, file: string, reason: string): void => {
      const fields = { tool, file: basename(file), reason };
      logOnce('info', `${file} ${reason}`, fields, 'tool left its process unusable');
    },
    /** A file lost its place among others, or goes on without it. */
    fileOffended: (file: string, offence: Offence): void => {
      metrics.toolFileOffences[offence].count += 1;
      const fields = { file: basename(file), reason: offence };
      logOnce('info', `${file} lost its place: ${offence}`, fields, 'tool file moved to dedicated processes');
    },
    lineWritten: (file: string, stream: 'stdout' | 'stderr', line: string): void => {
      if (mayPrint()) log.info({ file: basename(file), stream, line }, 'tool output');
    },
    /** A call waited this long for a process. */
    hostObtained: (waitedMs: number): void => metrics.toolCallQueue.process.observe(waitedMs / 1000),
  };
};

const listDeathFields = ({ pid, exitCode, signal, killedFor, lastLines, leaver }: Death) => ({
  pid,
  exit_code: exitCode,
  signal,
  killed_for: killedFor,
  last_lines: lastLines,
  ended_by: leaver?.name ?? null,
});

/** Whether one more line may be written in this second; reports how many were not in the one before. */
const createAllowance = (now: () => number, onLeftOut: (lines: number) => void): (() => boolean) => {
  let since = now();
  let lines = 0;
  return () => {
    if (now() - since >= SECOND_MS) {
      if (lines > LINES_A_SECOND) onLeftOut(lines - LINES_A_SECOND);
      since = now();
      lines = 0;
    }
    lines += 1;
    return lines <= LINES_A_SECOND;
  };
};
