import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { watchHostProcesses } from '@recourse/test-support/host-processes.ts';
import { startHostedService } from '@recourse/test-support/hosted-service.ts';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { cleanEnvironment, ROOT, runToEnd } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

/** The lines in which the process says why it does not start. It must not have listened. */
const refusalOf = async (environment: Readonly<Record<string, string>>): Promise<readonly string[]> => {
  const ended = await runToEnd({ by: 'node', environment: { PORT: '0', ...environment } });
  expect(ended).toMatchObject({ code: 1, signal: null, stdout: '' });
  return ended.stderr.split('\n').slice(0, -1);
};

test('a tools directory that is not there stands in one list with every other mistake', async () => {
  expect(
    await refusalOf({ PORT: 'eighty', TOOLS_DIR: '/nonexistent/tools', WORKSPACE_DIR: '/nonexistent/workspace' }),
  ).toEqual([
    'recourse: PORT must be a whole number',
    "recourse: WORKSPACE_DIR: The workspace '/nonexistent/workspace' does not exist.",
    'recourse: TOOLS_DIR /nonexistent/tools does not exist.',
  ]);
});

test('a tools directory that is a file is refused', async () => {
  const { root } = makeDirectory({ 'tools.ts': '' });
  expect(await refusalOf({ TOOLS_DIR: join(root, 'tools.ts') })).toEqual([
    `recourse: TOOLS_DIR ${join(root, 'tools.ts')} is not a directory.`,
  ]);
});

// To root every directory is readable, so somebody else has to try.
const isRoot = process.getuid?.() === 0;
const AS_NOBODY = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
const canTry = !isRoot || spawnSync('setpriv', [...AS_NOBODY.slice(1), 'node', '--version']).status === 0;

test.runIf(canTry)('a tools directory that may not be read is refused', () => {
  const { root } = makeDirectory();
  chmodSync(root, 0o000);
  const [command = 'node', ...words] = [...AS_NOBODY, 'node', ...FROM_SOURCES, 'src/main.ts'];
  const environment = cleanEnvironment({ PORT: '0', TOOLS_DIR: root });
  const ended = spawnSync(command, words, {
    cwd: ROOT,
    env: environment,
    encoding: 'utf8',
    timeout: timeLimit(20_000),
  });
  expect(ended).toMatchObject({ status: 1, stdout: '' });
  expect(ended.stderr).toBe(`recourse: TOOLS_DIR ${root} cannot be read by this user.\n`);
});

test('a port that is in use leaves no tool host behind', async () => {
  const first = await startHostedService({ by: 'node' });
  const processes = watchHostProcesses();
  const { root } = makeDirectory({
    'tools.ts': `
      import { defineTool } from 'recourse-server';
      export default defineTool({ name: 'a', description: '', effects: 'read', input: { type: 'object' }, run: () => 1 });
    `,
  });
  const { port } = first.running;
  const environment = { PORT: String(port), TOOLS_DIR: root, ...processes.environment };
  const ended = await runToEnd({ by: 'node', environment });
  expect(ended.code).toBe(1);
  expect(ended.stderr).toBe(
    `recourse: port ${port} on 127.0.0.1 is in use: stop the process that listens on it, or set PORT.\n`,
  );
  await expect.poll(processes.pids, { timeout: timeLimit(5000) }).toEqual([]);
});

test('told to end while its tool files still load, it leaves no process behind', async () => {
  const processes = watchHostProcesses();
  const begets =
    "import { spawn } from 'node:child_process'; spawn('sleep', ['600'], { stdio: 'ignore', detached: true });";
  const { root } = makeDirectory({ 'a.mjs': `${begets} for (;;);`, 'b.mjs': 'for (;;);' });
  const environment = cleanEnvironment({ PORT: '0', TOOLS_DIR: root, ...processes.environment });
  const service = spawn('node', [...FROM_SOURCES, 'src/main.ts'], { cwd: ROOT, env: environment, stdio: 'ignore' });
  const exited = once(service, 'exit');
  // Two hosts, and what one of them has started.
  await expect.poll(() => processes.pids().length, { timeout: timeLimit(20_000), interval: 5 }).toBe(3);
  service.kill('SIGTERM');
  await exited;
  await expect.poll(processes.pids, { timeout: timeLimit(5000) }).toEqual([]);
});
