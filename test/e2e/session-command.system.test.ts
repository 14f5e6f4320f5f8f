import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { findClosedPort } from '@recourse/test-support/http-target.ts';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { cleanEnvironment, ROOT, startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SessionView } from '#src/contract/session.ts';

type Shown = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs `npm run session` as a person does, but for npm. */
const session = (words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Shown> =>
  new Promise((resolve, reject) => {
    const options = { cwd: ROOT, env: cleanEnvironment(environment), timeout: timeLimit(20_000) };
    execFile('node', [...FROM_SOURCES, 'src/main.ts', 'session', ...words], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(error);
    });
  });

const post = async (url: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> => {
  const answer = await fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  await answer.arrayBuffer();
};

const MISSING = { id: 'call_1', name: 'read_file', arguments: { path: 'note.md' } };
const GREETING = { id: 'call_2', name: 'echo', arguments: { text: 'hello' } };

// What one run takes is another than the next takes, and so is the place of what stands to the left of it.
const withoutTimes = (text: string): string => text.replace(/ +\d+(\.\d+)? ms/g, ' # ms').replace(/─+/g, '─');

test('a session of a running service is shown with its budgets and every call', async () => {
  const { url } = await startProcess({ by: 'node' });
  await post(url, { session_id: 'team a/7', calls: [MISSING, GREETING] });
  await post(url, { session_id: 'team a/7', calls: [MISSING] });
  const shown = await session(['team a/7', '--url', url]);
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  const missing =
    "FileNotFoundError: there is no file 'note.md' in the workspace. Did you mean 'notes.md'? Call list_files to see what is there.";
  expect(withoutTimes(shown.stdout).split('\n')).toEqual([
    'Session team a/7, stored in the memory of the service',
    '2 rounds, 3 calls, 1 of 20 retries used',
    '',
    'tool       state    failed  retries  repeats    calls  last error',
    '─',
    'echo       fine         0x   0 of 3',
    `read_file  failing      2x   1 of 3  failed 2x         ${missing}`,
    '',
    expect.stringMatching(/^step {2}tool {7}outcome {2}code {12}left +time {2}message$/),
    '─',
    `   1  read_file  retry    tool_exception     3 # ms  ${missing}`,
    '   1  echo       success                     3 # ms',
    expect.stringMatching(
      /^ {3}2 {2}read_file {2}retry {4}tool_exception {5}2 # ms {2}FileNotFoundError: there is no file/,
    ),
    '',
  ]);
});

test('a session that nobody has seen is said to be unknown, and that is no error', async () => {
  const { url } = await startProcess({ by: 'node' });
  expect(await session(['nobody'], { RECOURSE_URL: `${url}/` })).toEqual({
    code: 0,
    stderr: '',
    stdout: [
      'Session nobody, stored in the memory of the service',
      '0 rounds, 0 calls, 0 of 20 retries used',
      '',
      'The session does not exist: it was never used, has expired, or belongs to another tenant.',
      '',
    ].join('\n'),
  });
});

test('while Redis is away nobody is told that the session never existed', async () => {
  const redis = `redis://127.0.0.1:${await findClosedPort()}`;
  const { url, logged } = await startProcess({ by: 'node', environment: { REDIS_URL: redis } });
  await logged('session store availability changed');
  expect((await session(['nobody', '--url', url])).stdout.split('\n')).toEqual([
    'Session nobody, stored in this replica only: Redis is unavailable',
    '0 rounds, 0 calls, 0 of 20 retries used',
    '',
    'This replica has counted nothing in it meanwhile. The session itself is in Redis.',
    '',
  ]);
});

test('the key says whose session it is, and one that is missing or wrong is asked for', async () => {
  const keyOf = (tenant: string): string => `key-of-${tenant}`;
  const pairs = ['acme', 'umbrella'].map((tenant) => `${tenant}=${hash('sha256', keyOf(tenant))}`);
  const { url } = await startProcess({ by: 'node', environment: { API_KEYS: pairs.join(',') } });
  const body = { session_id: 's', calls: [MISSING] };
  await post(url, body, { 'x-api-key': keyOf('acme') });
  const service = { RECOURSE_URL: url };
  const own = await session(['s', '--json'], { ...service, RECOURSE_API_KEY: keyOf('acme') });
  expect(SessionView.parse(JSON.parse(own.stdout)).calls).toHaveLength(1);
  const others = await session(['s', '--json', '--key', keyOf('umbrella')], service);
  expect(SessionView.parse(JSON.parse(others.stdout)).calls).toEqual([]);
  expect(await session(['s'], service)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'The service requires an API key: set RECOURSE_API_KEY, or pass --key.\n',
  });
  expect(await session(['s', '--key', 'wrong'], service)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'The service rejected this API key: check RECOURSE_API_KEY, or --key.\n',
  });
});

test('a service that cannot be reached is said to be, and how to start it', async () => {
  const port = await findClosedPort();
  expect(await session(['s', '--url', `http://127.0.0.1:${port}`])).toEqual({
    code: 1,
    stdout: '',
    stderr: `The service at http://127.0.0.1:${port} cannot be reached (ECONNREFUSED). Start it with npm start or recourse, or set --url (or RECOURSE_URL).\n`,
  });
});

const startStranger = async (answer: RequestListener): Promise<string> => {
  const server = createServer(answer).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await vi.waitUntil(() => server.listening);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return `http://127.0.0.1:${address.port}`;
};

test.for<readonly [string, RequestListener]>([
  ['a page', (_request, response) => response.end('<html>')],
  ['nothing', (_request, response) => response.end()],
  ['another JSON', (_request, response) => response.end('{"session":{}}')],
  ['an error of its own', (_request, response) => response.writeHead(404).end('{}')],
])('what answers with %s is said to be no Recourse', async ([, answer]) => {
  const url = await startStranger(answer);
  expect(await session(['s', '--url', url])).toEqual({
    code: 1,
    stdout: '',
    stderr: `The answer of ${url} is not one of Recourse. Check --url (or RECOURSE_URL), and the version of the service.\n`,
  });
});

test('what the service says of a refusal is passed on, without its control characters', async () => {
  const problem = {
    type: 'x',
    title: 'x',
    status: 503,
    code: 'x',
    detail: 'Away.\u001b[2J\nTry again.',
    request_id: 'x',
  };
  const url = await startStranger((_request, response) => response.writeHead(503).end(JSON.stringify(problem)));
  expect(await session(['s', '--url', url])).toEqual({ code: 1, stdout: '', stderr: 'HTTP 503: Away. Try again.\n' });
});

test('the JSON of a session is whole, and nothing in it is a command to a terminal', async () => {
  const { url } = await startProcess({ by: 'node' });
  const name = 'a\u001b[2J\u009b31m\u202eb\u{e0041}';
  await post(url, { session_id: 's', calls: [{ id: name, name: 'echo', arguments: { text: 'x' } }, MISSING] });
  const { stdout } = await session(['s', '--json', '--url', url]);
  expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(SessionView.parse(JSON.parse(stdout)).calls[0]?.id).toBe(name);
});

test('who calls it wrong is told how to call it, with exit code 2', async () => {
  const wrong = await session([]);
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  expect(wrong.stderr).toMatch(/^recourse: The session id is missing\.\nRun recourse session --help /);
  const help = await session(['--help']);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toMatch(/^Usage: recourse session <id> /);
});
