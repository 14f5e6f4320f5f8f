import { spawn } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolder } from '@recourse/test-support/config-lab.ts';
import { createCountFile, isRunning, servers, until } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { watchOrphans } from '#src/server-process.ts';

const startWith = async (settings: unknown) => {
  const path = join(await createFolder(), 'recourse.config.json');
  await writeFile(path, JSON.stringify({ mcpServers: { lab: settings } }));
  const running = await startProcess({ by: 'node', environment: { CONFIG_FILE: path } });
  const pidOf = async (tool: string): Promise<number> => {
    const [result] = await callService(running.url, [{ id: '1', name: tool, arguments: {} }]);
    const pid = Number(result?.value);
    expect(pid).toBeGreaterThan(1);
    onTestFinished(async () => {
      if (await isRunning(pid)) process.kill(pid, 'SIGKILL');
    });
    return pid;
  };
  return { running, pidOf };
};

const areRunning = (pids: readonly number[]): Promise<readonly boolean[]> => Promise.all(pids.map(isRunning));

test(
  'a server that takes no notice of anything ends soon after a service that was killed, and so does what it started',
  async () => {
    const { running, pidOf } = await startWith(servers.scripted('stubborn'));
    const pids = [await pidOf('lab_pid'), await pidOf('lab_grandchild')];
    expect(await areRunning(pids)).toEqual([true, true]);
    running.send('SIGKILL', 'service');
    await running.exited;
    await until(async () => expect(await areRunning(pids)).toEqual([false, false]));
  },
  timeLimit(60_000),
);

/** As npx does it: what was started waits for the server that it has started itself. */
const behindShell = (settings: { readonly command: string; readonly args: readonly string[] }) => ({
  command: '/bin/sh',
  args: ['-c', '"$0" "$@"; exit $?', settings.command, ...settings.args],
});

test(
  'a stubborn server behind a launcher such as npx ends as well',
  async () => {
    const { running, pidOf } = await startWith(behindShell(servers.scripted('stubborn')));
    const pid = await pidOf('lab_pid');
    running.send('SIGKILL', 'service');
    await running.exited;
    await until(async () => expect(await isRunning(pid)).toBe(false));
  },
  timeLimit(60_000),
);

// Half a second of work is left to it when its input ends. It has no tools.
const TIDY_SERVER = `
  import { appendFileSync } from 'node:fs';
  import { createInterface } from 'node:readline';
  const say = (text) => appendFileSync(process.argv[2], text + '\\n');
  const info = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'tidy', version: '1' } };
  say('started');
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (method === 'initialize') console.log(JSON.stringify({ jsonrpc: '2.0', id, result: info }));
    })
    .on('close', () => setTimeout(() => { say('tidied up'); process.exit(); }, 500));
`;

test(
  'a server that ends by itself when its input does is left the time to do so',
  async () => {
    await using said = await createCountFile();
    const path = join(await createFolder(), 'tidy-server.mjs');
    await writeFile(path, TIDY_SERVER);
    const { running } = await startWith({ command: process.execPath, args: [path, said.path] });
    await until(async () => expect(await said.lines()).toEqual(['started']));
    running.send('SIGKILL', 'service');
    await running.exited;
    await until(async () => expect(await said.lines()).toEqual(['started', 'tidied up']));
  },
  timeLimit(60_000),
);

/** Processes whose last argument is this. */
const withLastArgument = async (word: string): Promise<readonly string[]> => {
  const entries = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry));
  const lines = await Promise.all(entries.map((entry) => readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '')));
  return entries.filter((_, place) => lines[place]?.startsWith('/bin/sh\0') && lines[place]?.endsWith(`\0${word}\0`));
};

test(
  'where a server has ended before the service nobody looks after its group any more, which may be another by then',
  async () => {
    const other = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
    onTestFinished(() => void other.kill('SIGKILL'));
    const group = other.pid ?? 0;
    const watch = watchOrphans(group);
    await until(async () => expect(await withLastArgument(String(group))).toHaveLength(1));
    watch.end();
    await until(async () => expect(await withLastArgument(String(group))).toEqual([]));
    expect(await isRunning(group)).toBe(true);
  },
  timeLimit(60_000),
);
