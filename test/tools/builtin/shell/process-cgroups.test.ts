import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openProcessCgroups, type ProcessCgroup } from '#src/tools/builtin/shell/process-cgroups.ts';
import { startShellLab } from '#test/support/shell-lab.ts';

const IS_ROOT = process.geteuid?.() === 0;
const WAIT = { timeout: 15_000 };
// Enters the group, then starts forty processes, each of which says that it is there.
const STARTS_FORTY = 'echo $$ >"$1"; n=0; while [ $n -lt 40 ]; do (echo here; exec sleep 2) & n=$((n+1)); done; wait';
const STAYS = 'echo $$ >"$1"; sleep 1000 & exec sleep 1000';

const makeGroup = (maxProcesses: number): ProcessCgroup => {
  const cgroup = openProcessCgroups(maxProcesses)?.create();
  if (cgroup === null || cgroup === undefined) throw new Error('No control group was made.');
  return cgroup;
};

const startIn = async (procsFile: string): Promise<{ readonly exited: Promise<unknown> }> => {
  const child = spawn('/bin/sh', ['-c', STAYS, 'sh', procsFile], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  await expect.poll(() => readFileSync(procsFile, 'latin1').trim().split('\n').length, WAIT).toBe(2);
  return { exited };
};

test('for a service that is not root, whom a resource limit binds, there is none', () => {
  expect(openProcessCgroups(8) === null).toBe(!IS_ROOT);
});

test.runIf(IS_ROOT)('the kernel lets a group have as many processes as were allowed and sixteen more', async () => {
  const cgroup = makeGroup(8);
  const { stdout } = spawnSync('/bin/sh', ['-c', STARTS_FORTY, 'sh', cgroup.procsFile], { encoding: 'utf8' });
  const started = stdout.split('\n').filter((line) => line === 'here').length;
  expect(started).toBeGreaterThan(8);
  expect(started).toBeLessThanOrEqual(24);
  await cgroup.remove();
  await expect.poll(() => existsSync(dirname(cgroup.procsFile)), WAIT).toBe(false);
});

test.runIf(IS_ROOT)('to remove a group is to end what is in it', async () => {
  const cgroup = makeGroup(8);
  const { exited } = await startIn(cgroup.procsFile);
  await cgroup.remove();
  expect(await exited).toEqual([null, 'SIGKILL']);
  await expect.poll(() => existsSync(dirname(cgroup.procsFile)), WAIT).toBe(false);
});

test.runIf(IS_ROOT)(
  'what a service left that was killed is removed at the next start, and no one else has to go',
  async () => {
    const cgroup = makeGroup(8);
    const directory = dirname(cgroup.procsFile);
    const [prefix, namespace, pid, start, random] = basename(directory).split('.');
    const make = (...name: readonly (string | undefined)[]): string => {
      const path = join(dirname(directory), name.join('.'));
      mkdirSync(path);
      onTestFinished(() => {
        if (existsSync(path)) rmdirSync(path);
      });
      return path;
    };
    // Another process of the same number, before this one; and one that another namespace knows by a number free here.
    const dead = make(prefix, namespace, pid, String(Number(start) - 1), random);
    const elsewhere = make(prefix, '1', '4194304', start, random);
    writeFileSync(join(dead, 'pids.max'), '24');
    const { exited } = await startIn(join(dead, 'cgroup.procs'));
    openProcessCgroups(8);
    expect(await exited).toEqual([null, 'SIGKILL']);
    await expect.poll(() => existsSync(dead), WAIT).toBe(false);
    expect([existsSync(directory), existsSync(elsewhere)]).toEqual([true, true]);
    await cgroup.remove();
  },
);

test.runIf(IS_ROOT)('no group is left of commands that have ended', async () => {
  const lab = await startShellLab();
  const cgroup = makeGroup(8);
  const [mark = ''] = /^recourse\.\d+\.\d+\.\d+/.exec(basename(dirname(cgroup.procsFile))) ?? [];
  await cgroup.remove();
  await Promise.all(Array.from({ length: 20 }, () => lab.run('sleep 100 & true')));
  await lab.stop();
  const left = (): readonly string[] =>
    readdirSync(dirname(dirname(cgroup.procsFile))).filter((name) => name.startsWith(`${mark}.`));
  await expect.poll(left, WAIT).toEqual([]);
});
