import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { type CommandCgroup, openCommandCgroups } from '#src/command-cgroups.ts';
import { canLimitMemory, findControlGroups } from '#test/shell-lab.ts';

const IS_ROOT = process.geteuid?.() === 0;
const LIMITS_MEMORY = canLimitMemory();
const WAIT = { timeout: timeLimit(15_000) };
// Enters the group, then starts forty processes, each of which says that it is there.
const STARTS_FORTY = 'echo $$ >"$1"; n=0; while [ $n -lt 40 ]; do (echo here; exec sleep 2) & n=$((n+1)); done; wait';
const STAYS = 'echo $$ >"$1"; sleep 1000 & exec sleep 1000';

const open = () => openCommandCgroups({ maxProcesses: 8, memoryBytes: 33_554_432 });

const makeGroup = (): CommandCgroup => {
  const cgroup = open()?.create();
  if (cgroup === null || cgroup === undefined) throw new Error('No control group was made.');
  onTestFinished(() => cgroup.remove());
  return cgroup;
};

const startIn = async (procsFile: string): Promise<{ readonly exited: Promise<unknown> }> => {
  const child = spawn('/bin/sh', ['-c', STAYS, 'sh', procsFile], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  await expect.poll(() => readFileSync(procsFile, 'latin1').trim().split('\n').length, WAIT).toBe(2);
  return { exited };
};

/** A group of the process of this number that began earlier than ours: what is in `procsFile` is all moved there. */
const abandon = (procsFile: string): string => {
  const pids = readFileSync(procsFile, 'latin1').trim().split('\n');
  const [prefix, namespace, pid, start, random] = basename(dirname(procsFile)).split('.');
  const dead = join(dirname(dirname(procsFile)), [prefix, namespace, pid, String(Number(start) - 1), random].join('.'));
  onTestFinished(() => {
    if (existsSync(dead)) rmdirSync(dead);
  });
  // In one go: whatever service starts meanwhile, in another test too, ends what is in it.
  mkdirSync(dead);
  for (const moved of pids) writeFileSync(join(dead, 'cgroup.procs'), moved);
  return dead;
};

test('for a service that is not root, whom a resource limit binds, there is none', () => {
  expect(open() === null).toBe(!IS_ROOT);
});

test.runIf(IS_ROOT)('memory is limited wherever the machine has control groups of version 2 for it', () => {
  expect(open()?.limitsMemory).toBe(LIMITS_MEMORY);
});

test.runIf(IS_ROOT)('the kernel lets a group have as many processes as were allowed and sixteen more', async () => {
  const cgroup = makeGroup();
  const { stdout } = spawnSync('/bin/sh', ['-c', STARTS_FORTY, 'sh', cgroup.procsFile], { encoding: 'utf8' });
  const started = stdout.split('\n').filter((line) => line === 'here').length;
  expect(started).toBeGreaterThan(8);
  expect(started).toBeLessThanOrEqual(24);
  await cgroup.remove();
  await expect.poll(() => existsSync(dirname(cgroup.procsFile)), WAIT).toBe(false);
});

test.runIf(IS_ROOT)('to remove a group is to end what is in it', async () => {
  const cgroup = makeGroup();
  const { exited } = await startIn(cgroup.procsFile);
  await cgroup.remove();
  expect(await exited).toEqual([null, 'SIGKILL']);
  await expect.poll(() => existsSync(dirname(cgroup.procsFile)), WAIT).toBe(false);
});

test.runIf(IS_ROOT)(
  'what a service left that was killed is removed at the next start, and no one else has to go',
  async () => {
    const { procsFile } = makeGroup();
    const { exited } = await startIn(procsFile);
    const [prefix, , , start, random] = basename(dirname(procsFile)).split('.');
    // Of another namespace, which knows a process by a number that is free here.
    const elsewhere = join(dirname(dirname(procsFile)), [prefix, '1', '4194304', start, random].join('.'));
    mkdirSync(elsewhere);
    onTestFinished(() => rmdirSync(elsewhere));
    const dead = abandon(procsFile);
    open();
    expect(await exited).toEqual([null, 'SIGKILL']);
    await expect.poll(() => existsSync(dead), WAIT).toBe(false);
    expect([existsSync(dirname(procsFile)), existsSync(elsewhere)]).toEqual([true, true]);
  },
);

test.runIf(IS_ROOT)('no group is left of those that were removed', async () => {
  const groups = Array.from({ length: 20 }, makeGroup);
  expect(findControlGroups().length).toBeGreaterThanOrEqual(20);
  await Promise.all(groups.map(({ remove }) => remove()));
  await expect.poll(findControlGroups, WAIT).toEqual([]);
});

const ENTER = 'echo $$ >"$1"; exec perl -e \'$x = "x" x 100_000_000; sleep 100\'';

test.runIf(LIMITS_MEMORY)(
  'a process that takes more than its group may have is ended, and it can be told',
  async () => {
    const cgroup = makeGroup();
    expect(cgroup.findMemoryEnd()).toBe(null);
    const { signal } = spawnSync('/bin/sh', ['-c', ENTER, 'sh', cgroup.procsFile]);
    expect({ signal, end: cgroup.findMemoryEnd() }).toEqual({ signal: 'SIGKILL', end: 'memory' });
    await cgroup.remove();
  },
);
