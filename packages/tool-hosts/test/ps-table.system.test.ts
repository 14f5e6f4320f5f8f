import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLab, toOutcome, toolFile } from '@recourse/test-support/isolation-lab.ts';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createPsTable, parseList } from '#src/ps-table.ts';

// Tool hosts as they are watched where there is no /proc.

const FOREVER = { timeout: timeLimit(15_000) };

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (_gone) {
    return false;
  }
};

const readPids = (file: string): readonly number[] => {
  const pids = existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ').map(Number) : [];
  onTestFinished(() => {
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  return pids;
};

const makeFile = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-ps-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return join(directory, 'pids');
};

// Away from the host's group, and without the mark in its environment. One of them leaves its parent, too.
const LEAVE = `
  const far = spawn('/bin/sleep', ['60'], { detached: true, stdio: 'ignore', env: {} });
  const near = spawn('/bin/sh', ['-c', 'sleep 60 & echo $! > "$0"', input.file + '.near'], { env: { PATH: '/usr/bin:/bin' } });
  await new Promise((resolve) => near.once('exit', resolve));
  writeFileSync(input.file, far.pid + ' ' + readFileSync(input.file + '.near', 'latin1').trim());`;
const IMPORTS = "import { readFileSync } from 'node:fs';";

test('what ps writes on Linux and on macOS is read, headings and broken lines are not', () => {
  const linux =
    '    PID    PPID    PGID   RSS                  STARTED\n      1       0       1 12348 Mon Nov 23 11:02:03 2026\n';
  const macos =
    '  PID  PPID  PGID    RSS STARTED                     \n  501     1   501   2048 Mon Nov 23 09:00:00 2026    \n  oops\n';
  expect([...parseList(`${linux}${macos}`)]).toEqual([
    [1, { parent: 0, group: 1, residentBytes: 12_644_352, started: 'Mon Nov 23 11:02:03 2026' }],
    [501, { parent: 1, group: 501, residentBytes: 2_097_152, started: 'Mon Nov 23 09:00:00 2026' }],
  ]);
});

test('over ps a host that hangs, fills its memory outside of the heap, or ends by itself takes with it all that its tool started', async () => {
  const [hung, gone] = [makeFile(), makeFile()];
  const lab = openLab({ processes: createPsTable({ lookEveryMs: 150 }), memoryMb: 200, minHosts: 3, maxHosts: 3 });
  const { call } = await lab.load(
    toolFile(
      {
        hang: `${LEAVE} for (;;);`,
        fill: 'const all = []; for (;;) { await wait(20); if (all.length < 12) all.push(Buffer.alloc(33_554_432, 1)); }',
        // Longer than from one look to the next.
        leave: `${LEAVE} await wait(600); process.exit(3);`,
      },
      IMPORTS,
    ).replaceAll("effects: 'read'", "effects: 'read', concurrency: 1"),
  );
  const calls = [call('hang', { file: hung }, 800), call('fill'), call('leave', { file: gone })];
  const [hanging, filled, left] = await Promise.all(calls);
  expect([hanging?.kind, filled && toOutcome(filled), left && toOutcome(left)]).toMatchObject([
    'timed_out',
    { code: 'out_of_memory' },
    { code: 'tool_crashed' },
  ]);
  const pids = [...readPids(hung), ...readPids(gone)];
  expect(pids).toHaveLength(4);
  await expect.poll(() => pids.filter(isAlive), FOREVER).toEqual([]);
  const reasons = lab.ended.map(({ death }) => String(death.killedFor));
  expect(reasons.toSorted()).toEqual(['memory', 'null', 'timeout']);
});

test('over ps, which does not tell how long a process has waited, a file has three times the time to load', async () => {
  const lab = openLab({ processes: createPsTable(), maxHosts: 1 });
  const waiting = 'await new Promise((resolve) => setTimeout(resolve, 2100));';
  const { call } = await lab.load(`${waiting}${toolFile({ one: 'return 1;' })}`);
  expect(toOutcome(await call('one'))).toBe(1);
});

const SERVICE = `
  const { spawn } = await import('node:child_process');
  const { startGroupWatchdog } = await import(process.argv[1]);
  const host = spawn('/bin/sh', ['-c', 'trap "" HUP; sleep 61 & wait'], { detached: true, stdio: 'ignore' });
  const stray = spawn('/bin/sleep', ['62'], { detached: true, stdio: 'ignore' });
  const other = spawn('/bin/sleep', ['63'], { detached: true, stdio: 'ignore' });
  const watchdog = startGroupWatchdog();
  watchdog.watch([-other.pid]);
  watchdog.watch([-host.pid, stray.pid]);
  process.stdout.write([host.pid, stray.pid, other.pid].join(' '), () => process.kill(process.pid, 'SIGKILL'));`;

test('a service that is killed takes what it told its watchdog last with it, and nothing else', async () => {
  const url = new URL('../src/process-control.ts', import.meta.url).href;
  const child = spawn(process.execPath, [...FROM_SOURCES, '--input-type=module', '-e', SERVICE, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const text = await new Promise<string>((resolve) =>
    child.stdout.once('data', (bytes: Buffer) => resolve(`${bytes}`)),
  );
  const [host = 0, stray = 0, other = 0] = text.split(' ').map(Number);
  await expect.poll(() => [host, stray, other].map(isAlive), FOREVER).toEqual([false, false, true]);
  process.kill(other, 'SIGKILL');
});
