import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createShell } from '#src/shell-tools.ts';
import {
  createShellPlace,
  findBwrap,
  findControlGroups,
  type ShellLab,
  type ShellPlace,
  startShellLab,
  stdoutOf,
  toShellSettings,
} from '#test/shell-lab.ts';

let lab: ShellLab;
beforeAll(async () => {
  lab = await startShellLab();
});
afterAll(() => lab.stop());

const WAIT = { timeout: timeLimit(20_000), interval: 50 };
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const countOpenFiles = (): number => readdirSync('/proc/self/fd').length;

test.each([
  'sleep 1000 & echo done',
  'setsid sleep 1000 & echo done',
  'nohup sleep 1000 >/dev/null 2>&1 & echo done',
  '( (setsid sh -c "sleep 1000" &) & ) ; echo done',
  "(trap '' TERM HUP INT; exec >/dev/null 2>&1 </dev/null; while :; do sleep 1; done) & echo done",
  'mkfifo pipe 2>/dev/null; cat pipe & echo done',
])('%s: nobody waits for what it left behind, and it is gone', async (command) => {
  const began = performance.now();
  expect(stdoutOf(await lab.run(command))).toBe('done\n');
  expect(performance.now() - began).toBeLessThan(timeLimit(15_000));
  expect(lab.processes()).toEqual([]);
});

test('a hundred commands at once are all answered', async () => {
  const results = await Promise.all(Array.from({ length: 100 }, (_, n) => lab.run(`sleep 0.1 & echo ${n}; wait`)));
  expect(results.map(stdoutOf)).toEqual(Array.from({ length: 100 }, (_, n) => `${n}\n`));
  expect(lab.processes()).toEqual([]);
});

test('a thousand commands leave no process, no file and no open descriptor behind', {
  timeout: timeLimit(180_000),
}, async () => {
  await lab.run('true');
  const names = () => readdirSync(tmpdir()).filter((name) => /^(bwrap|bindfile)/.test(name));
  const before = { open: countOpenFiles(), temporary: names(), workspace: readdirSync(lab.root) };
  const left = Array.from({ length: 1000 }, (_, n) => n);
  const outputs = new Set<string>();
  const work = async (): Promise<void> => {
    for (let n = left.pop(); n !== undefined; n = left.pop())
      outputs.add(stdoutOf(await lab.run(n % 10 === 0 ? `sleep 99 & echo x >/tmp/${n}; echo ${n}` : `echo ${n}`)));
  };
  await Promise.all(Array.from({ length: 8 }, work));
  expect(outputs.size).toBe(1000);
  expect(lab.processes()).toEqual([]);
  await vi.waitFor(() => expect(findControlGroups()).toEqual([]), WAIT);
  expect({ temporary: names(), workspace: readdirSync(lab.root) }).toEqual({
    temporary: before.temporary,
    workspace: before.workspace,
  });
  // Connections of the client come and go; a leak of one descriptor a command would be a thousand.
  expect(countOpenFiles()).toBeLessThan(before.open + 50);
});

test('a call that is aborted ends its command at once, and so does the end of the service', async () => {
  const place = createShellPlace();
  onTestFinished(() => place.remove());
  const family = await createShell({
    ...{ workspaceDir: place.root, bwrapPath: findBwrap(), log: SILENT },
    ...{ timeoutMs: 60_000, cpuSeconds: 10, memoryMb: 256, maxProcesses: 32, outputBytes: 65_536, epoll: 'refused' },
  });
  const [tool] = family.tools;
  if (tool === undefined) throw new Error('The tool is not offered.');
  const begin = async (name: string, signal?: AbortSignal): Promise<Promise<unknown>[]> => {
    const command = `trap '' TERM; sleep 1000 & touch ${name}; sleep 1000`;
    const run = runTool(tool, { command }, signal).catch((error: unknown) => String(error));
    await vi.waitFor(() => expect(existsSync(join(place.root, name))).toBe(true), WAIT);
    expect(place.processes().length).toBeGreaterThan(2);
    return [run];
  };
  const told = new AbortController();
  const [aborted] = await begin('first', told.signal);
  told.abort(new Error('the call is over'));
  expect(await aborted).toBe('Error: the call is over');
  expect(place.processes()).toEqual([]);
  const [stopped] = await begin('second');
  await family.close();
  expect(place.processes()).toEqual([]);
  expect(await stopped).toBe('TerminalToolError: Command killed: the service is being stopped.');
});

const startBusy = async (): Promise<{
  readonly place: ShellPlace;
  readonly running: Awaited<ReturnType<typeof startProcess>>;
  readonly answer: Promise<unknown>;
}> => {
  const place = createShellPlace();
  onTestFinished(() => place.remove());
  const environment = { ...toShellSettings(place), SHUTDOWN_GRACE_MS: '2000' };
  const running = await startProcess({ by: 'node', environment });
  const command = "trap '' TERM; setsid sleep 1000 & touch begun; sleep 1000";
  const answer = callService(running.url, [{ name: 'run_shell_command', arguments: { command } }]).catch(
    () => 'no answer',
  );
  await vi.waitFor(() => expect(existsSync(join(place.root, 'begun'))).toBe(true), WAIT);
  expect(place.processes().length).toBeGreaterThan(3);
  return { place, running, answer };
};

test('a service that is killed takes its commands with it', { timeout: timeLimit(60_000) }, async () => {
  const { place, running, answer } = await startBusy();
  running.send('SIGKILL', 'service');
  await running.exited;
  await vi.waitFor(() => expect(place.processes()).toEqual([]), WAIT);
  expect(await answer).toBe('no answer');
});

test('a service that is told to end leaves no command behind', { timeout: timeLimit(60_000) }, async () => {
  const { place, running } = await startBusy();
  running.send('SIGTERM', 'service');
  expect(await running.exited).toMatchObject({ signal: null });
  expect(place.processes()).toEqual([]);
});

test('whoever kills bubblewrap from outside gets an answer that says what is not known', async () => {
  const answer = lab.run('touch third; sleep 25');
  await vi.waitFor(() => expect(existsSync(join(lab.root, 'third'))).toBe(true), WAIT);
  const killer = spawn('kill', ['-9', String(Math.min(...lab.processes()))]);
  await once(killer, 'close');
  expect(await answer).toMatchObject({
    outcome: 'failed',
    executed: 'maybe',
    message: 'The sandbox of the command was killed from outside.',
  });
  await vi.waitFor(() => expect(lab.processes()).toEqual([]), WAIT);
});
