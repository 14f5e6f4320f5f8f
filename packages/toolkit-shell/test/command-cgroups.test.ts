import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
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

type Group = CommandCgroup & { readonly procsFile: string };

const makeGroup = (): Group => {
  const cgroup = open()?.create();
  const [procsFile] = cgroup?.procsFiles ?? [];
  if (cgroup === null || cgroup === undefined || procsFile === undefined) throw new Error('No control group was made.');
  onTestFinished(() => cgroup.remove());
  return { ...cgroup, procsFile };
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

test.runIf(IS_ROOT)('memory is limited wherever the machine can do so', () => {
  expect(open()?.limitsMemory).toBe(LIMITS_MEMORY);
});

// Of version 1, where a group with processes may have others below it.
const OWN_PIDS = '/sys/fs/cgroup/pids';

/** Opens control groups in a group of its own, leaves that, has it removed, and makes one. */
const MOVES = `
  import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  const [at, file] = process.argv.slice(1);
  const { openCommandCgroups } = await import(file);
  mkdirSync(at);
  writeFileSync(at + '/cgroup.procs', String(process.pid));
  const groups = openCommandCgroups({ maxProcesses: 8, memoryBytes: 33554432 });
  const first = groups.create();
  const began = first.procsFiles.filter((path) => path.startsWith(at)).length;
  await first.remove();
  writeFileSync(at + '/../cgroup.procs', String(process.pid));
  for (let again = 0; again < 100; again += 1) {
    try { rmdirSync(at); break; } catch { await setTimeout(100); }
  }
  const next = groups.create();
  console.log(JSON.stringify({ began, made: next?.procsFiles.length ?? null, there: groups.limitsMemory }));
  await next?.remove();
`;

test.runIf(IS_ROOT && existsSync(`${OWN_PIDS}/cgroup.procs`))(
  'a service that was moved to another group, and whose first one is gone, finds the new one',
  () => {
    const at = join(OWN_PIDS, `moved.${process.pid}`);
    const file = join(import.meta.dirname, '../src/command-cgroups.ts');
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [...FROM_SOURCES, '--input-type=module', '-e', MOVES, at, file],
      {
        encoding: 'utf8',
      },
    );
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({ began: 1, made: LIMITS_MEMORY ? 2 : 1, there: LIMITS_MEMORY });
  },
);

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

test.runIf(LIMITS_MEMORY)('what a killed service left in the group of its memory is ended, too', async () => {
  const last = makeGroup().procsFiles.at(-1) ?? '';
  const { exited } = await startIn(last);
  const dead = abandon(last);
  open();
  expect(await exited).toEqual([null, 'SIGKILL']);
  await expect.poll(() => existsSync(dead), WAIT).toBe(false);
});

test.runIf(LIMITS_MEMORY)('the group of memory lies below that of the service, whose limit binds it', async () => {
  const cgroup = makeGroup();
  const above = dirname(dirname(cgroup.procsFiles.at(-1) ?? ''));
  const own = readFileSync(join(above, 'cgroup.procs'), 'latin1').split('\n').includes(String(process.pid));
  // In version 2 it is the group of the processes: no group with processes may have others below it.
  expect(own || cgroup.procsFiles.length === 1).toBe(true);
  await cgroup.remove();
});

const ENTER = 'for file; do echo $$ >"$file"; done; exec perl -e \'$x = "x" x 100_000_000; sleep 100\'';

test.runIf(LIMITS_MEMORY)(
  'a process that takes more than its group may have is ended, and it can be told',
  async () => {
    const cgroup = makeGroup();
    expect(cgroup.findMemoryEnd()).toBe(null);
    const { signal } = spawnSync('/bin/sh', ['-c', ENTER, 'sh', ...cgroup.procsFiles]);
    expect({ signal, end: cgroup.findMemoryEnd() }).toEqual({ signal: 'SIGKILL', end: 'memory' });
    await cgroup.remove();
  },
);
