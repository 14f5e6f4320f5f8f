import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFolder } from '@recourse/test-support/config-lab.ts';
import { createCountFile, isRunning, servers, until } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { spawnServer } from '#src/server-process.ts';

const SOURCE = join(import.meta.dirname, '../src/server-process.ts');

/** The watches of a group: shells whose last word is its number. */
const watchesOf = async (group: number): Promise<readonly number[]> => {
  const entries = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry));
  const lines = await Promise.all(entries.map((entry) => readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '')));
  return entries
    .filter((_, place) => lines[place]?.startsWith('/bin/sh\0') && lines[place]?.endsWith(`\0${group}\0`))
    .map(Number);
};

const startGroup = (): { readonly child: ChildProcess; readonly group: number } => {
  const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, group: child.pid ?? 0 };
};

const ENVIRONMENT = { PATH: process.env['PATH'] ?? '' };
const NOBODY = { onStderr: async () => undefined };

test(
  'no watch is left of a server that has ended',
  async () => {
    const { promise: told, resolve } = Promise.withResolvers<number>();
    const { promise: ended, resolve: onEnd } = Promise.withResolvers<string>();
    const server = spawnServer(
      { command: '/bin/sh', args: ['-c', 'echo $$; read -r line; exit 3'], cwd: '/', environment: ENVIRONMENT },
      { ...NOBODY, onStdout: async (chunk) => resolve(Number(chunk.toString())), onEnd },
    );
    const group = await told;
    await until(async () => expect(await watchesOf(group)).toHaveLength(1));
    await server.write('now\n');
    expect(await ended).toBe('its process ended (exit code 3)');
    await until(async () => expect(await watchesOf(group)).toEqual([]));
  },
  timeLimit(60_000),
);

/** A `sleep` that writes a line each time before it does so; `more` is what it does besides. */
const createSleep = async (path: string, more = ''): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-sleep-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'sleep'), `#!/bin/sh\necho slept >>'${path}'\n${more}\nexec /bin/sleep "$@"\n`);
  await chmod(join(folder, 'sleep'), 0o755);
  return `${folder}:/usr/bin:/bin`;
};

const WATCHER = `const { watchOrphans } = await import(process.argv[1]);
  watchOrphans(Number(process.argv[2]), process.argv[3]); setInterval(() => {}, 1000)`;

/** A process with a watch of this group, as the service has it; whoever kills it leaves the watch alone. */
const startWatcher = async (group: number, path: string): Promise<ChildProcess> => {
  const words = [...FROM_SOURCES, '--input-type=module', '-e', WATCHER, SOURCE, String(group), path];
  const watcher = spawn(process.execPath, words, { stdio: 'ignore' });
  onTestFinished(() => void watcher.kill('SIGKILL'));
  await until(async () => expect(await watchesOf(group)).toHaveLength(1));
  return watcher;
};

test(
  'where the group is gone when the service dies the watch leaves without waiting',
  async () => {
    await using said = await createCountFile();
    const { child, group } = startGroup();
    const watcher = await startWatcher(group, await createSleep(said.path));
    // Reaped, not only dead: until then the number is still the group's.
    const reaped = once(child, 'exit');
    child.kill('SIGKILL');
    await reaped;
    watcher.kill('SIGKILL');
    await until(async () => expect(await watchesOf(group)).toEqual([]));
    expect(await said.lines()).toEqual([]);
  },
  timeLimit(60_000),
);

test(
  'where the group goes while the watch waits it is not waited for any longer, nor signalled',
  async () => {
    await using said = await createCountFile();
    const { child, group } = startGroup();
    const path = await createSleep(said.path, `kill -9 ${group}; while kill -0 ${group} 2>/dev/null; do :; done`);
    const watcher = await startWatcher(group, path);
    watcher.kill('SIGKILL');
    await until(async () => expect(await watchesOf(group)).toEqual([]));
    expect(child.signalCode).toBe('SIGKILL');
    expect(await said.lines()).toEqual(['slept']);
  },
  timeLimit(60_000),
);

// The next process gets the number after this one; root may choose it.
const LAST_PID = '/proc/sys/kernel/ns_last_pid';
const MAY_CHOOSE = process.geteuid?.() === 0 && existsSync(LAST_PID);

/** Another group by the number of one that is gone. Other processes start meanwhile: it is tried until it succeeds. */
const startNewcomer = (group: number): Promise<ChildProcess> =>
  until(() => {
    const last = readFileSync(LAST_PID, 'latin1');
    writeFileSync(LAST_PID, String(group - 1));
    const child = spawn('/bin/sleep', ['600'], { detached: true, stdio: 'ignore' });
    // As it was: numbers that were just in use are not to be given to others again.
    writeFileSync(LAST_PID, last);
    onTestFinished(() => void child.kill('SIGKILL'));
    expect(child.pid).toBe(group);
    return child;
  });

const startServiceWith = async (settings: unknown) => {
  const path = join(await createFolder(), 'recourse.config.json');
  await writeFile(path, JSON.stringify({ mcpServers: { lab: settings } }));
  const running = await startProcess({ by: 'node', environment: { CONFIG_FILE: path } });
  const [result] = await callService(running.url, [{ id: '1', name: 'lab_pid', arguments: {} }]);
  return { running, group: Number(result?.value) };
};

test.runIf(MAY_CHOOSE)(
  'a service that is told to stop tells its watches: whoever gets the number of a server next is left alone',
  async () => {
    const { running, group } = await startServiceWith(servers.scripted('stubborn'));
    const [watch = 0] = await watchesOf(group);
    expect(watch).toBeGreaterThan(1);
    onTestFinished(async () => {
      if (await isRunning(watch)) process.kill(watch, 'SIGKILL');
    });
    // It stands still meanwhile: what it was told it reads when it goes on.
    process.kill(watch, 'SIGSTOP');
    running.send('SIGTERM', 'service');
    expect(await running.exited).toEqual({ code: 0, signal: null });
    await until(() => expect(existsSync(`/proc/${group}`)).toBe(false));
    const newcomer = await startNewcomer(group);
    process.kill(watch, 'SIGCONT');
    await until(async () => expect(await isRunning(watch)).toBe(false));
    expect([newcomer.signalCode, await isRunning(group)]).toEqual([null, true]);
  },
  60_000,
);

test.runIf(existsSync('/bin/bash'))(
  'a watch keeps nothing open that whoever started the service left open',
  async () => {
    const { group } = startGroup();
    const file = join(await createFolder(), 'inherited');
    await writeFile(file, '');
    // Behind a gap: Node closes what stands in a row.
    const words = [
      '-c',
      'exec 40<"$0" 41<"$0"; exec "$@"',
      file,
      process.execPath,
      ...FROM_SOURCES,
      '--input-type=module',
      '-e',
      WATCHER,
    ];
    const watcher = spawn('/bin/bash', [...words, SOURCE, String(group), '/usr/bin:/bin'], { stdio: 'ignore' });
    onTestFinished(() => void watcher.kill('SIGKILL'));
    const linksOf = async (pid: number): Promise<readonly string[]> => {
      const fds = await readdir(`/proc/${pid}/fd`);
      return Promise.all(fds.map((fd) => readlink(`/proc/${pid}/fd/${fd}`)));
    };
    await until(async () => {
      const [watch] = await watchesOf(group);
      expect(watch === undefined ? [file] : await linksOf(watch)).not.toContain(file);
    });
    expect(await linksOf(watcher.pid ?? 0)).toContain(file);
  },
  60_000,
);
