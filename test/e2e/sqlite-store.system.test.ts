import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { cleanEnvironment, ROOT, runToEnd, startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';

const PATIENCE = { timeout: timeLimit(60_000), interval: 50 };

const makeDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
};

const fail = async (url: string, session: string) => {
  // Another call each time: of equal ones the third would not run.
  const [result] = await callService(url, [{ name: 'read_file', arguments: { path: `${Math.random()}` } }], {
    session_id: session,
  });
  return result?.retry;
};

const readStore = async (url: string): Promise<unknown> =>
  z.object({ store: z.unknown() }).parse(await (await fetch(`${url}/ready`)).json()).store;

/** A service that need not get as far as to listen: its lines so far, and its end. `before`: words of a shell before it begins. */
const spawnService = (environment: Readonly<Record<string, string>>, before = '') => {
  const words = ['-c', `${before} exec "$0" "$@"`, process.execPath, ...FROM_SOURCES, join(ROOT, 'src/main.ts')];
  const env = cleanEnvironment({ PORT: '0', MAX_EVENT_LOOP_LAG_MS: '60000', ...environment });
  const child = spawn('bash', words, { env, cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const logged = (message: string) =>
    vi.waitUntil(() => lines.find((line) => line.includes(`"msg":"${message}`)), PATIENCE);
  return { pid: child.pid ?? 0, logged };
};

const Listening = z.object({ port: z.number() });

test(
  'with STORE=sqlite a session survives kill -9, and the file is readable by its owner alone',
  PATIENCE,
  async () => {
    const path = join(makeDirectory(), 'store.db');
    const environment = { STORE: `sqlite:${path}` };
    const first = await startProcess({ by: 'node', environment });
    expect(await readStore(first.url)).toEqual({ kind: 'sqlite', status: 'up' });
    expect(await fail(first.url, 's')).toMatchObject({ mode: 'sqlite', used: 0, remaining: 3 });
    expect(await fail(first.url, 's')).toMatchObject({ used: 1 });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
    first.send('SIGKILL', 'service');
    await first.exited;
    const second = await startProcess({ by: 'node', environment });
    expect(await fail(second.url, 's')).toMatchObject({ mode: 'sqlite', used: 2, remaining: 1 });
    expect(second.stderr()).not.toContain('ExperimentalWarning');
  },
);

test('a second process says whom it waits for, and serves when that one has ended', PATIENCE, async () => {
  const environment = { STORE: `sqlite:${join(makeDirectory(), 'store.db')}` };
  const first = await startProcess({ by: 'node', environment });
  await fail(first.url, 's');
  await fail(first.url, 's');
  const second = spawnService(environment);
  expect(await second.logged('waiting for the file of the store')).toContain(`in use by process ${first.pid} on`);
  first.send('SIGTERM', 'service');
  expect(await first.exited).toMatchObject({ code: 0 });
  const { port } = Listening.parse(JSON.parse(await second.logged('listening')));
  expect(await fail(`http://127.0.0.1:${port}`, 's')).toMatchObject({ used: 2 });
});

test.each([
  ['no database', (path: string) => writeFileSync(path, 'This is a letter. '.repeat(500)), 'is damaged or no database'],
  [
    'of another program',
    (path: string) => {
      const db = new DatabaseSync(path);
      db.exec('CREATE TABLE customer (id INTEGER)');
      db.close();
    },
    'is a database of another program. Name another file.',
  ],
  ['in no directory', (path: string) => rmSync(join(path, '..'), { recursive: true }), 'Its directory must exist'],
])('a file that is %s: exit 1, and a line that says what to do', PATIENCE, async (_what, prepare, message) => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'store.db');
  prepare(path);
  const ended = await runToEnd({ by: 'node', environment: { PORT: '0', STORE: `sqlite:${path}` } });
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain(`recourse: STORE: ${path} `);
  expect(ended.stderr).toContain(message);
});

test('where there is no room at the start it exits with 1 and says so', PATIENCE, async () => {
  const environment = { STORE: `sqlite:${join(makeDirectory(), 'store.db')}` };
  const first = await startProcess({ by: 'node', environment });
  first.send('SIGKILL', 'service');
  await first.exited;
  const words = [
    '-c',
    'trap "" XFSZ; ulimit -f 1; exec "$0" "$@"',
    process.execPath,
    ...FROM_SOURCES,
    join(ROOT, 'src/main.ts'),
  ];
  const child = spawn('bash', words, {
    env: { ...cleanEnvironment({ PORT: '0', ...environment }), NODE_DISABLE_COMPILE_CACHE: '1' },
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const told: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => told.push(text));
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(told.join('')).toMatch(/STORE: .*disk/);
  expect(code).toBe(1);
});

test(
  'a disk that fills takes the store away and promises nothing; with room again it serves on',
  PATIENCE,
  async () => {
    const environment = { STORE: `sqlite:${join(makeDirectory(), 'store.db')}`, SESSION_JOURNAL: '1000' };
    // Without the signal the write fails; 1 KiB blocks, of all files of the process.
    const service = spawnService(environment, "trap '' XFSZ; ulimit -S -f 600;");
    const { port } = Listening.parse(JSON.parse(await service.logged('listening')));
    const url = `http://127.0.0.1:${port}`;
    expect(await fail(url, 'before')).toMatchObject({ mode: 'sqlite', used: 0 });
    const text = 'x'.repeat(50_000);
    const isAway = async (): Promise<boolean> => {
      await callService(url, [{ name: 'echo', arguments: { text } }], { session_id: 's' });
      const retry = await fail(url, `of ${Math.random()}`);
      return retry?.mode === 'local';
    };
    await vi.waitUntil(isAway, PATIENCE);
    expect(await readStore(url)).toEqual({ kind: 'sqlite', status: 'down' });
    await new Promise((resolve) =>
      spawn('prlimit', ['--pid', String(service.pid), '--fsize=unlimited']).once('close', resolve),
    );
    await vi.waitUntil(async () => JSON.stringify(await readStore(url)).includes('"up"'), PATIENCE);
    expect(await fail(url, 'before')).toMatchObject({ mode: 'sqlite', used: 1 });
  },
);

test('recourse store backup copies the file while the service runs, and while none does', PATIENCE, async () => {
  const directory = makeDirectory();
  const environment = { STORE: `sqlite:${join(directory, 'store.db')}` };
  const service = await startProcess({ by: 'node', environment });
  await fail(service.url, 's');
  await fail(service.url, 's');
  const copyTo = (name: string) =>
    runToEnd({ by: 'node', environment, words: ['store', 'backup', join(directory, name)] });
  expect(await copyTo('running.db')).toMatchObject({ code: 0, stdout: `${join(directory, 'running.db')}\n` });
  expect(await copyTo('running.db')).toMatchObject({ code: 1, stderr: expect.stringContaining('EEXIST') });
  expect(statSync(join(directory, 'running.db')).mode & 0o777).toBe(0o600);
  service.send('SIGKILL', 'service');
  await service.exited;
  expect(await copyTo('stopped.db')).toMatchObject({ code: 0 });
  for (const name of ['running.db', 'stopped.db']) {
    const copied = await startProcess({ by: 'node', environment: { STORE: `sqlite:${join(directory, name)}` } });
    expect(await fail(copied.url, 's')).toMatchObject({ mode: 'sqlite', used: 2 });
  }
});
