import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** What slowhttptest saw in one second. */
export type SlowSecond = { readonly closed: number; readonly pending: number; readonly connected: number };

export type SlowReport = {
  /** Why it ended, in its words. */
  readonly exitStatus: string;
  readonly seconds: readonly SlowSecond[];
};

export type SlowClients = {
  /** Resolves when it has ended. */
  readonly report: () => Promise<SlowReport>;
  /** Ends it as Ctrl-C does: it still reports. */
  readonly stop: () => void;
};

const EXIT_STATUS = /^Exit status: *(.+)$/m;
// Seconds,Closed,Pending,Connected,Service Available
const SECOND = /^\d+,(\d+),(\d+),(\d+),\d+$/gm;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it colours its words, whatever reads them.
const COLOURS = /\u001b\[[0-9;]*[A-Za-z]/g;

/** Starts slowhttptest, which scripts/ensure-slowhttptest.sh gets. Gone with its test. */
export const startSlowClients = (words: readonly string[]): SlowClients => {
  const place = mkdtempSync(join(tmpdir(), 'recourse-slow-'));
  const child = spawn('slowhttptest', [...words, '-g', '-o', join(place, 'report')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const closed = once(child, 'close').catch((cause: unknown) => {
    throw new Error('There is no slowhttptest: run sh scripts/ensure-slowhttptest.sh.', { cause });
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await closed;
    rmSync(place, { recursive: true });
  });
  const toReport = (): SlowReport => {
    const [, exitStatus] = EXIT_STATUS.exec(said.replaceAll(COLOURS, '')) ?? [];
    if (exitStatus === undefined) throw new Error(`slowhttptest told no exit status:\n${said}`);
    const rows = readFileSync(join(place, 'report.csv'), 'utf8').matchAll(SECOND);
    const seconds = Array.from(rows, ([, ...counts]) => {
      const [gone = 0, pending = 0, connected = 0] = counts.map(Number);
      return { closed: gone, pending, connected };
    });
    return { exitStatus, seconds };
  };
  return { report: () => closed.then(toReport), stop: () => void child.kill('SIGINT') };
};
