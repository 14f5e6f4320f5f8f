import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { type Launch, runToEnd, startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';

const makeDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-process-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
};

const takePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address.port;
};

const STARTERS: readonly Launch['by'][] = ['node', 'npm'];

test.each(STARTERS)('started by %s without settings it serves on loopback and keeps budgets in memory', async (by) => {
  const running = await startProcess({ by });
  expect(running.logLines()).toMatchObject([{ level: 30, msg: 'listening', address: '127.0.0.1', port: running.port }]);
  const ready = await fetch(`${running.url}/ready`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toEqual({
    status: 'ready',
    store: { kind: 'memory', status: 'up' },
    tools: 6,
    missing: [],
    files: [],
    upstreams: [],
  });
  const [echoed, missing] = await callService(
    running.url,
    [
      { name: 'echo', arguments: { text: 'hello' } },
      { name: 'read_file', arguments: { path: 'no such thing' } },
    ],
    { session_id: 's' },
  );
  expect(echoed).toMatchObject({ success: true, value: { text: 'hello' } });
  expect(missing).toMatchObject({
    success: false,
    outcome: 'retry',
    retry: { allowed: true, limit: 3, remaining: 3, mode: 'memory' },
  });
});

/** The command that the service prints on stderr when it listens. */
const curlLineOf = (stderr: string): string => {
  const line = stderr.split('\n').find((candidate) => candidate.trim().startsWith('curl '));
  if (line === undefined) throw new Error(`There is no curl line on stderr:\n${stderr}`);
  return line.trim();
};

// Only on a machine without curl: takes the line apart as sh and curl would.
const fetchByCurlLine = async (line: string): Promise<string> => {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  const after = (flag: string): string => words[words.indexOf(flag) + 1] ?? '';
  const [name = '', value = ''] = after('-H').split(': ');
  const url = words.find((word) => word.startsWith('http://')) ?? '';
  return (await fetch(url, { method: 'POST', headers: { [name]: value }, body: after('-d') })).text();
};

const runCurlLine = async (line: string): Promise<string> => {
  if (spawnSync('curl', ['--version']).status !== 0) return fetchByCurlLine(line);
  return (await promisify(execFile)('sh', ['-c', line], { encoding: 'utf8' })).stdout;
};

test('the curl line it prints works as it stands, with and without curl', async () => {
  const running = await startProcess({ by: 'npm' });
  const line = curlLineOf(running.stderr());
  for (const body of [await runCurlLine(line), await fetchByCurlLine(line)]) {
    const { results } = ToolCallsResponse.parse(JSON.parse(body));
    expect(results).toMatchObject([
      { id: 'call_1', name: 'read_file', success: true, message: '', value: { path: 'notes.md' } },
    ]);
  }
});

test('the curl line works on a workspace of one’s own, and over IPv6', async () => {
  const workspace = makeDirectory();
  writeFileSync(join(workspace, 'mine.md'), 'mine');
  const running = await startProcess({ by: 'node', environment: { HOST: '::1', WORKSPACE_DIR: workspace } });
  const line = curlLineOf(running.stderr());
  expect(line).toContain(`http://[::1]:${running.port}/tool-calls`);
  const { results } = ToolCallsResponse.parse(JSON.parse(await runCurlLine(line)));
  expect(results).toMatchObject([{ name: 'list_files', success: true }]);
  expect(JSON.stringify(results)).toContain('mine.md');
});

test('where keys are asked for, the curl line says where the key goes', async () => {
  const digest = '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b'; // SHA-256 of "secret"
  const running = await startProcess({
    by: 'node',
    environment: { API_KEYS: `acme=${digest}`, WORKSPACE_DIR: makeDirectory() },
  });
  const line = curlLineOf(running.stderr());
  expect(JSON.parse(await runCurlLine(line))).toMatchObject({ status: 401, code: 'unauthorized' });
  const withKey = line.replace('$YOUR_KEY', 'secret');
  if (spawnSync('curl', ['--version']).status === 0)
    expect(JSON.parse(await runCurlLine(withKey))).toMatchObject({ results: [{ success: true }] });
});

/** The lines in which the process says why it does not start. It must not have listened. */
const refusalOf = async (environment: Readonly<Record<string, string>>): Promise<readonly string[]> => {
  const ended = await runToEnd({ by: 'node', environment: { PORT: '0', ...environment } });
  expect(ended).toMatchObject({ code: 1, signal: null, stdout: '' });
  return ended.stderr.split('\n').slice(0, -1);
};

test('every mistake in the settings is listed at once, a line each, whatever its kind', async () => {
  expect(
    await refusalOf({
      PORT: 'eighty',
      HOST: '0.0.0.0',
      LOG_LEVEL: 'loud',
      REDIS_URL: 'http://127.0.0.1:6379',
      SESSION_TTL_SECONDS: '300',
      WORKSPACE_DIR: '/nonexistent/workspace',
    }),
  ).toEqual([
    'recourse: PORT must be a whole number',
    "recourse: LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent: 'loud' is not allowed",
    'recourse: REDIS_URL must be redis://… or rediss://…, a comma-separated list of them, or redis+sentinel://HOST/NAME',
    'recourse: HOST is 0.0.0.0, which other machines can reach, and no API keys are configured: set API_KEYS, or ALLOW_ANONYMOUS=true to allow everyone',
    'recourse: SESSION_TTL_SECONDS must be longer than MAX_DEADLINE_MS, or a session could expire before its batch ends',
    "recourse: WORKSPACE_DIR: The workspace '/nonexistent/workspace' does not exist.",
  ]);
});

test('a file of keys that cannot be read is refused by its name', async () => {
  expect(await refusalOf({ API_KEYS_FILE: '/nonexistent/keys' })).toEqual([
    'recourse: API_KEYS_FILE /nonexistent/keys does not exist: create it with recourse key --tenant NAME --file /nonexistent/keys',
  ]);
});

test('a file of keys with a bad line is refused by the line, and what is in it is not repeated', async () => {
  const file = join(makeDirectory(), 'keys');
  writeFileSync(file, '# keys\nacme=the key itself\n');
  expect(await refusalOf({ API_KEYS_FILE: file })).toEqual([
    `recourse: API_KEYS_FILE ${file}: line 2 must be tenant=SHA-256, the hash of a key in 64 hex digits, for example acme=5e88…; \`recourse key\` creates one.`,
  ]);
});

test('a file without a key is refused: it would let everybody in', async () => {
  const file = join(makeDirectory(), 'keys');
  writeFileSync(file, '# none yet\n\n');
  expect(await refusalOf({ API_KEYS_FILE: file, HOST: '0.0.0.0' })).toEqual([
    `recourse: API_KEYS_FILE ${file} contains no key.`,
  ]);
});

test('a workspace that is a file is refused', async () => {
  const file = join(makeDirectory(), 'file');
  writeFileSync(file, '');
  expect(await refusalOf({ WORKSPACE_DIR: file })).toEqual([
    `recourse: WORKSPACE_DIR: The workspace '${file}' is not a directory.`,
  ]);
});

test('a port that is in use is one clear line', async () => {
  const port = await takePort();
  expect(await refusalOf({ PORT: String(port) })).toEqual([
    `recourse: port ${port} on 127.0.0.1 is in use: stop the process that listens on it, or set PORT.`,
  ]);
});

test('an address of another machine is one clear line', async () => {
  expect(await refusalOf({ HOST: '192.0.2.1', ALLOW_ANONYMOUS: 'true' })).toEqual([
    'recourse: HOST 192.0.2.1 is not an address of this machine: set HOST to one that is, or to 0.0.0.0 for all.',
  ]);
});

test('a Redis that replicas of version 0.1 use is refused with what to do', async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const direct = new Redis(redis.url);
  onTestFinished(() => direct.disconnect());
  await direct.hset('recourse:{kept}:lease', 'holder', 'a-replica', 'until', String(Date.now() + 3000));
  // Without it a line warns first.
  const key = `first:${randomBytes(32).toString('base64')}`;
  expect(await refusalOf({ REDIS_URL: redis.url, STORE_KEYS: key })).toEqual([
    expect.stringMatching(
      /^recourse: REDIS_URL: version 0\.1 used this Redis \d+ s ago, and must not share one with 0\.2\. /,
    ),
  ]);
});

test('npm start ends with the same code and the same line', async () => {
  const ended = await runToEnd({ by: 'npm', environment: { PORT: '-1' } });
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain('recourse: PORT must be a whole number\n');
});

test('an empty value means unset', async () => {
  const unset = {
    HOST: '',
    LOG_LEVEL: '',
    REDIS_URL: '',
    API_KEYS: '',
    API_KEYS_FILE: '',
    WORKSPACE_DIR: '',
    ALLOW_ANONYMOUS: '',
  };
  const running = await startProcess({ by: 'node', environment: unset });
  expect(running.logLines()).toMatchObject([{ msg: 'listening', address: '127.0.0.1' }]);
  expect(await (await fetch(`${running.url}/ready`)).json()).toMatchObject({ status: 'ready' });
});

test('ALLOW_ANONYMOUS=true lets it listen on every address', async () => {
  const running = await startProcess({ by: 'node', environment: { HOST: '0.0.0.0', ALLOW_ANONYMOUS: 'true' } });
  expect(running.logLines()).toMatchObject([{ msg: 'listening', address: '0.0.0.0', port: running.port }]);
  expect(running.stderr()).toContain(`Recourse serves on http://127.0.0.1:${running.port}.`);
  expect(await callService(running.url, [{ name: 'echo', arguments: { text: 'hi' } }])).toMatchObject([
    { success: true },
  ]);
});
