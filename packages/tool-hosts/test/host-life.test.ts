import { readFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { openLab, toOutcome, toolFile } from '@recourse/test-support/isolation-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

const FILE = toolFile({
  pid: 'await wait(input.ms ?? 0); return process.pid;',
  hang: 'return new Promise(() => setInterval(() => undefined, 1000));',
  beget: "return [false, true].map((detached) => spawn('sleep', ['600'], { stdio: 'ignore', detached }).pid);",
});

const FOREVER = { timeout: timeLimit(15_000) };

test('a host is replaced after as many calls as it may answer', async () => {
  const { load, ended } = openLab({ maxCalls: 3, maxHosts: 1 });
  const { call } = await load(FILE);
  const pids: unknown[] = [];
  for (let n = 0; n < 7; n += 1) pids.push(toOutcome(await call('pid')));
  const [a, , , b, , , c] = pids;
  expect(pids).toEqual([a, a, a, b, b, b, c]);
  expect(new Set(pids).size).toBe(3);
  expect(ended.map(({ restart, death }) => [restart, death.killedFor])).toEqual([
    ['recycle', 'recycle'],
    ['recycle', 'recycle'],
  ]);
});

test('calls in flight end on the old version of a file while new ones run on the new version', async () => {
  const { load, isolation } = openLab({ maxHosts: 4 });
  const version = (text: string) => toolFile({ version: `await wait(input.ms ?? 0); return '${text}';` });
  const before = await load(version('old'));
  const inFlight = before.call('version', { ms: 1000 });
  await expect.poll(() => isolation.count('busy'), FOREVER).toBe(1);
  const after = await load(version('new'));
  isolation.hosts.retire(before.file);
  expect(toOutcome(await after.call('version'))).toBe('new');
  // Let in before, and only now at its turn.
  const late = before.call('version');
  expect(toOutcome(await inFlight)).toBe('old');
  expect(toOutcome(await late)).toBe('old');
  expect(toOutcome(await after.call('version'))).toBe('new');
});

test('a host that died while nobody used it costs the next call nothing', async () => {
  const { load, ended } = openLab({ minHosts: 1 });
  const { call } = await load(FILE);
  for (let n = 0; n < 3; n += 1) {
    const pid = Number(toOutcome(await call('pid')));
    process.kill(pid, 'SIGKILL');
    const next = toOutcome(await call('pid'));
    expect(typeof next).toBe('number');
    expect(next).not.toBe(pid);
  }
  expect(ended.map(({ restart }) => restart)).toEqual(['crash', 'crash', 'crash']);
});

test('a host stands behind the service in the queue for the processor, itself and its session', async () => {
  const { load } = openLab({ maxHosts: 1 });
  const { call } = await load(FILE);
  const pid = Number(toOutcome(await call('pid')));
  expect(getPriority(pid)).toBe(Math.min(19, getPriority() + 5));
  // A kernel that does not group by session has no such file.
  const group = await readFile(`/proc/${pid}/autogroup`, 'latin1').catch(() => 'nice 10\n');
  expect(group).toMatch(/nice 10\n$/);
});

test('as many hosts as are to be kept warm are there without a call, and again when one dies', async () => {
  const { load, isolation, processes } = openLab({ minHosts: 3 });
  await load(FILE);
  await expect.poll(() => isolation.count('idle'), FOREVER).toBe(3);
  const [first = 0] = processes.hosts();
  process.kill(first, 'SIGKILL');
  await expect
    .poll(() => processes.hosts().includes(first) || isolation.count('idle') + processes.hosts().length, FOREVER)
    .toBe(6);
  expect(processes.hosts()).not.toContain(first);
});

test('closing ends idle and hanging hosts and what their tools started, and nothing starts any more', async () => {
  const { load, isolation, processes } = openLab({ minHosts: 2 });
  const { call, file } = await load(FILE);
  await call('beget');
  const hanging = call('hang');
  await expect.poll(() => isolation.count('busy'), FOREVER).toBe(1);
  expect(processes.pids().length - processes.hosts().length).toBe(2);
  await isolation.close();
  expect(processes.hosts()).toEqual([]);
  await expect.poll(processes.pids, FOREVER).toEqual([]);
  expect(toOutcome(await hanging)).toMatchObject({ code: 'cancelled' });
  expect(toOutcome(await call('pid'))).toMatchObject({ code: 'overloaded', executed: 'no' });
  expect(await isolation.hosts.load(file)).toEqual({ kind: 'broken', reason: 'no process could be started for it' });
  expect(processes.pids()).toEqual([]);
});

test('where no process can be started, loading and calls say so, and the next try may work', async () => {
  // No environment of a process may hold it: starting one throws.
  const environment = { ...process.env, BAD: 'a\0b' };
  const bad = openLab({ environment, sharedVariables: ['BAD'] });
  await expect(bad.load(FILE)).rejects.toThrow('no process could be started for it');
  const settings = { environment: { ...process.env, BAD: 'fine' } };
  const { load, processes } = openLab({ ...settings, sharedVariables: ['BAD'], minHosts: 0 });
  const { call } = await load(FILE);
  expect(typeof toOutcome(await call('pid'))).toBe('number');
  settings.environment.BAD = 'a\0b';
  process.kill(Number(toOutcome(await call('pid'))), 'SIGKILL');
  expect(toOutcome(await call('pid'))).toEqual({ code: 'overloaded', executed: 'no', retryAfterMs: 0 });
  settings.environment.BAD = 'fine';
  expect(typeof toOutcome(await call('pid'))).toBe('number');
  expect(processes.hosts()).toEqual([]);
});
