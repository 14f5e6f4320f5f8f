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
const QUIET_MS = 1000;
// A file that leaks fills one host after the other.
const GROWTH_MS = 60_000;
// A death that somebody should look into; the others are the daily life of a pool.
const ALARMING: ReadonlySet<RestartReason> = new Set(['oom', 'crash', 'exit', 'flood']);

export type IsolationObserver = ReturnType<typeof createIsolationObserver>;

/** Metrics and log lines of what tool hosts do beside answering. `file`: the absolute path of a tool file. */
export const createIsolationObserver = ({ metrics, log, now, lateResult }: HostObserverParts) => {
  // Who throws something else each time must not fill the log either.
  const mayRepeat = createOnceASecond(now);
  const logGrowth = createGrowthLog(log, now);
  const mayPrint = createAllowance(now, (leftOut) => log.info({ lines: leftOut }, 'tool output suppressed'));
  return {
    /** `path`: null where the host ran no file. `restart`: why it must be replaced; null where it need not be. */
    hostEnded: (path: string | null, death: Death, restart: RestartReason | null): void => {
      const file = path === null ? null : basename(path);
      if (restart !== null) metrics.countToolProcessRestart(restart, file);
      if (restart === 'growth') logGrowth(file);
      const level = levelOf(restart);
      if (level === 'debug' || mayRepeat(`${path} ${restart}`))
        log[level]({ file, restart, ...listDeathFields(death) }, 'tool host ended');
    },
    messageDropped: (reason: DroppedReason): void => {
      metrics.toolMessagesDropped[reason].count += 1;
    },
    /** A tool threw where nobody waited for it, mostly after its call had been answered. */
    strayThrown: (tool: string | null, file: string, thrown: unknown): void => {
      lateResult(tool ?? '_unknown', 'threw');
      const causes = describeCauses(thrown);
      if (mayRepeat(`${file} ${causes[0]?.message}`))
        log.warn({ tool, file: basename(file), causes }, 'tool threw outside of a call');
    },
    /** A tool changed what calls of its process share: that process is replaced. */
    hostUnusable: (tool: string | null, file: string, reason: string): void => {
      if (mayRepeat(`${file} ${reason}`))
        log.info({ tool, file: basename(file), reason }, 'tool left its process unusable');
    },
    /** A file lost its place among others, or goes on without it. */
    fileOffended: (file: string, offence: Offence): void => {
      metrics.toolFileOffences[offence].count += 1;
      if (mayRepeat(`${file} lost its place: ${offence}`))
        log.info({ file: basename(file), reason: offence }, 'tool file moved to dedicated processes');
    },
    lineWritten: (file: string, stream: 'stdout' | 'stderr', line: string): void => {
      if (mayPrint()) log.info({ file: basename(file), stream, line }, 'tool output');
    },
    /** A call waited this long for a process. */
    hostObtained: (waitedMs: number): void => metrics.toolCallQueue.process.observe(waitedMs / 1000),
  };
};

const levelOf = (restart: RestartReason | null): 'warn' | 'debug' =>
  restart !== null && ALARMING.has(restart) ? 'warn' : 'debug';

const createGrowthLog = (log: HostLog, now: () => number) => {
  const limit = createLineLimiter(now, GROWTH_MS);
  return (file: string | null): void =>
    limit(`${file}`, (leftOut) =>
      log.warn({ file, count: leftOut + 1 }, 'tool host replaced: its memory grew and was not released'),
    );
};

const listDeathFields = ({ pid, exitCode, signal, killedFor, lastLines, leaver }: Death) => ({
  pid,
  exit_code: exitCode,
  signal,
  killed_for: killedFor,
  last_lines: lastLines,
  ended_by: leaver?.name ?? null,
});

/** Whether one more line may be written in this second; tells how many were not in the one before. */
const createAllowance = (now: () => number, onLeftOut: (lines: number) => void): (() => boolean) => {
  let since = now();
  let lines = 0;
  return () => {
    if (now() - since >= QUIET_MS) {
      if (lines > LINES_A_SECOND) onLeftOut(lines - LINES_A_SECOND);
      since = now();
      lines = 0;
    }
    lines += 1;
    return lines <= LINES_A_SECOND;
  };
};

/** Whether a line with this key is the first of its second; no more lines than a second may have are. */
const createOnceASecond = (now: () => number): ((key: string) => boolean) => {
  let written = new Set<string>();
  let since = now();
  return (key) => {
    if (now() - since >= QUIET_MS) {
      written = new Set();
      since = now();
    }
    if (written.has(key) || written.size >= LINES_A_SECOND) return false;
    written.add(key);
    return true;
  };
};
