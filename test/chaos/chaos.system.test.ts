import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
// Start, rest (idle tool hosts end after 30 s) and end come on top of the minute.
const TIMEOUT_MS = timeLimit(240_000);

type Run = { readonly code: number | null; readonly table: string; readonly words: string };

/** Runs the chaos as a user does, after everything else that wants the processor: other tests watch their deadlines. */
const runChaos = async (words: readonly string[]): Promise<Run> => {
  const child = spawn(process.execPath, [...FROM_SOURCES, 'chaos/run.ts', '--nice', '10', ...words], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    // It ends what it has started.
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  const [stdout, stderr]: [string[], string[]] = [[], []];
  child.stdout.setEncoding('utf8').on('data', (text: string) => stdout.push(text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => stderr.push(text));
  await once(child, 'close');
  return { code: child.exitCode, table: stdout.join(''), words: stderr.join('') };
};

const rowsWith = (verdict: string, table: string): readonly string[] =>
  table
    .split('\n')
    .filter((line) => line.endsWith(`| ${verdict} |`))
    .map((line) => line.split('|')[1]?.trim() ?? '');

const LATE = 'answers later than 2 s after their deadline';

const countIn = (what: string, table: string): number =>
  Number(new RegExp(`^\\| ${what} +\\| (\\d+) \\|`, 'm').exec(table)?.[1]);

test('for a minute of load, faults and killers every promise is kept', { timeout: TIMEOUT_MS }, async () => {
  const { code, table, words } = await runChaos(['--seconds', '60', '--rate', '30']);
  // The whole table and its evidence, so that a failure tells what broke.
  const told = `${words}\n${table}`;
  const kept = rowsWith('ok', table).filter((row) => row !== LATE);
  expect(
    rowsWith('BROKEN', table).filter((row) => row !== LATE),
    told,
  ).toEqual([]);
  // None on a machine of its own. Beside browsers and other tests, and behind all of them, some are.
  expect(countIn(LATE, table), told).toBeLessThan(countIn('batches accepted', table) / 10);
  expect(kept, told).toEqual([
    '5xx answers other than 503',
    '503 without a problem body or Retry-After',
    '503 for a batch that had been accepted',
    'accepted batches whose answer broke off or never came',
    'answers with a status that the request does not explain',
    'results lost, doubled, out of place or for another call',
    'answers and results that break the contract',
    'bad calls that ended in a way their tool cannot end',
    'good calls that failed without a reason of the rules',
    "values that are another call's",
    'write calls that ran twice',
    'write calls answered `executed: yes` that never ran',
    'write calls answered `executed: no` that ran',
    'keyed write calls that ran twice',
    'keyed write calls answered `executed: yes` that never ran',
    'keyed write calls answered `executed: no` each time that ran',
    'repeats that do not replay the answer seen before',
    '409 without Retry-After or without a reason',
    'answers to keyed batches that cannot be asked for by their request id',
    'failing calls that ran beyond the budget of their session',
    'sessions that cannot be read as the contract says',
    'bugs of the service in its answers, metrics and log',
    'replicas that ended untold, too late or not with 0',
    'changed tool files not taken over within 10 s',
    'processes left after the end',
    'good calls that succeeded',
    'batches that no replica took',
    'tools of chaos/tools not offered',
    'replicas ready, with Redis, after the load',
    'file descriptors at rest: after less before',
    'memory slope of replica 1, MB/min',
    'memory of replica 1, MB',
    'memory slope of replica 2, MB/min',
    'memory of replica 2, MB',
  ]);
  // Half of what was planned, so that the promises were put to the test.
  expect(countIn('batches accepted', table), told).toBeGreaterThan(900);
  expect(countIn('killer calls', table), told).toBeGreaterThan(50);
  expect(countIn('keyed batches', table), told).toBeGreaterThan(150);
  expect(countIn('keyed results asked for again', table), told).toBeGreaterThan(500);
  expect(countIn('failing sessions held against their budget', table), told).toBeGreaterThan(2);
  // Breakers open, and not only for those who must not run.
  expect(table, told).toMatch(/^\| codes +\| .*\b\d+ circuit_open\b/m);
  expect(table, told).toMatch(/^\| faults +\| .*\b\d+ SIGKILL to a replica, restart\b/m);
  // The exit code follows the verdicts, also that of the one row which may be broken here.
  expect(code, told).toBe(rowsWith('BROKEN', table).length === 0 ? 0 : 1);
});

test('a bad option is explained and starts nothing', async () => {
  const { code, words } = await runChaos(['--seconds', '1']);
  expect(words).toContain("--seconds must be a whole number from 10 to 86400, got '1'.");
  expect(code).toBe(1);
});
