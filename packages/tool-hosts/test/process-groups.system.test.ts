import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLab, toOutcome, toolFile } from '@recourse/test-support/isolation-lab.ts';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { GROUP_TABLE } from '#src/process-table.ts';

// Tool hosts as they are watched where there is no /proc.

const FOREVER = { timeout: timeLimit(15_000) };

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (_gone) {
    return false;
  }
};

test('over process groups a host that hangs ends with what its tool started in its group', async () => {
  const lab = openLab({ processes: GROUP_TABLE, maxHosts: 1 });
  const directory = mkdtempSync(join(tmpdir(), 'recourse-groups-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'pid');
  const hang = "writeFileSync(input.file, String(spawn('/bin/sleep', ['60'], { stdio: 'ignore' }).pid)); for (;;);";
  const { call } = await lab.load(toolFile({ hang }));
  await call('hang', { file }, 500);
  const pid = Number(readFileSync(file, 'utf8'));
  await expect.poll(() => isAlive(pid), FOREVER).toBe(false);
});

test('over process groups, where nothing tells how long a process has waited, a file has three times the time to load', async () => {
  const lab = openLab({ processes: GROUP_TABLE, maxHosts: 1 });
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
  watchdog.watch(new Set([other.pid]));
  watchdog.watch(new Set([host.pid, stray.pid]));
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
