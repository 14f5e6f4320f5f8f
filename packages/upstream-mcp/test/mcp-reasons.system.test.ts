import { startConfigLab } from '@recourse/test-support/config-lab.ts';
import { servers, startMcpLab, until } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { rawProgram } from '@recourse/test-support/mcp-servers/raw-script.ts';
import { findFreePort } from '@recourse/test-support/mcp-servers/start-http-server.ts';
import { expect, test } from 'vitest';

test.each([
  [
    { command: '/no/such/program' },
    "its process could not be started (ENOENT): the file '/no/such/program' does not exist",
  ],
  [
    { command: 'no-such-command' },
    "its process could not be started (ENOENT): the command 'no-such-command' was not found on PATH",
  ],
  [
    { command: process.execPath, cwd: '/no/such/folder' },
    "its process could not be started (ENOENT): the directory '/no/such/folder' (cwd) does not exist",
  ],
  [
    { command: './server' },
    "its process could not be started (ENOENT): the file './server' does not exist in '/srv' (cwd)",
  ],
  [
    {
      command: process.execPath,
      args: ['-e', 'console.error("Cannot access directory"); process.exitCode = 1', './ws'],
    },
    "its process ended (exit code 1), and './ws' does not exist in '/srv' (cwd): Cannot access directory",
  ],
  [
    { command: process.execPath, args: ['-e', 'console.error(process.cwd()); process.exitCode = 1'] },
    'its process ended (exit code 1): /srv',
  ],
  [
    rawProgram({ welcome: { protocolVersion: '2019-01-01' } }),
    "the handshake failed: Server's protocol version is not supported: 2019-01-01",
  ],
  [
    rawProgram({ welcome: { capabilities: 5 } }),
    expect.stringMatching(/^the handshake failed: Invalid result for initialize/),
  ],
])('what could not be started says what is missing (%o)', async (settings, reason) => {
  await using lab = await startMcpLab(settings, { directory: '/srv' });
  expect(lab.upstream.state()).toMatchObject({ status: 'down', reason });
});

test('a server that nobody answers for is named by its host and port', async () => {
  const port = await findFreePort();
  await using lab = await startMcpLab({ url: `http://user:secret@127.0.0.1:${port}/mcp?key=secret` });
  expect(lab.upstream.state().reason).toBe(`no connection to 127.0.0.1:${port} (ECONNREFUSED)`);
});

const dying = (script: string) => ({ command: process.execPath, args: ['-e', script] });

test.each([
  [
    'its last line, with or without an end',
    'process.stderr.write("starting\\nError: Cannot access directory /srv/documents"); process.exitCode = 1',
    'its process ended (exit code 1): Error: Cannot access directory /srv/documents',
  ],
  [
    'the error, and not the stack under it',
    'throw new Error("the licence has expired")',
    'its process ended (exit code 1): Error: the licence has expired',
  ],
  [
    'one line, printable and cut',
    'process.stderr.write("\\u001b[31mred\\u001b[0m \\u202e " + "word ".repeat(50)); process.exitCode = 2',
    `its process ended (exit code 2): red \\u202e ${'word '.repeat(37)}…`,
  ],
  [
    'no half of a word, which may be a secret',
    'console.error("a bad key=" + "k,;".repeat(100)); process.exitCode = 2',
    'its process ended (exit code 2): a bad …',
  ],
  ['nothing, where it said nothing', 'process.exitCode = 4', 'its process ended (exit code 4)'],
  [
    'what is no pointer to a log of its own',
    'process.stderr.write("npm error 404 Not Found\\nnpm error A complete log of this run can be found in: /x\\n"); process.exitCode = 1',
    'its process ended (exit code 1): npm error 404 Not Found',
  ],
])('the reason of a server that ends holds %s', async (_, script, reason) => {
  await using lab = await startMcpLab(dying(script));
  expect(lab.upstream.state().reason).toBe(reason);
});

test('the server of the registry says which folder is missing', async () => {
  await using lab = await startMcpLab(servers.filesystem('/no/such/documents'));
  expect(lab.upstream.state().reason).toMatch(
    /^its process ended \(exit code 1\): Warning: Cannot access directory \/no\/such\/documents.*; Error: None of /,
  );
});

test('last words that differ with every try are told once', async () => {
  await using lab = await startMcpLab(
    dying('console.error(process.hrtime.bigint() + " no licence"); process.exitCode = 1'),
  );
  const endings = () => lab.upstream.state().reason;
  const first = endings();
  await until(() => expect(endings()).not.toBe(first));
  expect(lab.logged.filter(({ message }) => message === 'MCP server down')).toHaveLength(1);
});

test('a server that cannot list its tools says why, and is logged once for many tries, also where its text varies', async () => {
  await using lab = await startMcpLab(servers.scripted('unlisted'), { timing: { maxBackoffMs: 50, startMs: 100 } });
  await until(() => expect(lab.upstream.state().reconnects).toBeGreaterThan(2));
  expect(lab.upstream.state()).toMatchObject({
    status: 'down',
    reason: expect.stringMatching(
      /^its tools could not be listed: error -32603: The database is locked \([0-9a-f-]{36}\)\.$/,
    ),
    tools: 0,
  });
  const lines = lab.logged.filter(({ level }) => level === 'warn');
  expect(lines.map(({ message, fields }) => ({ message, ...fields }))).toEqual([
    {
      message: 'tools of an MCP server could not be listed',
      cause: expect.stringContaining('The database is locked'),
    },
    { message: 'MCP server down', reason: expect.stringContaining('The database is locked') },
  ]);
});

test.each(['empty cursor', 'null cursor'])('a list ends at a page with: %s', async (start) => {
  await using lab = await startMcpLab(servers.scripted(start));
  expect(lab.upstream.state()).toMatchObject({ status: 'up', reason: null });
  expect(await lab.call('lab_echo', { text: 'x' })).toMatchObject({ success: true });
});

test('a secret in the last words is shown nowhere', async () => {
  const secret = 'sk-live-4f9a8b7c6d5e4f3a2b1c';
  const settings = dying('console.error("bad key " + process.env.LAB_TOKEN); process.exitCode = 1');
  const { service } = await startConfigLab({ mcpServers: { lab: { ...settings, env: { LAB_TOKEN: secret } } } });
  const ready = await (await fetch(`${service.opsUrl}/ready`)).text();
  const logged = JSON.stringify(service.logLines());
  expect(ready).toContain('its process ended (exit code 1): bad key ');
  expect(logged).toContain('its process ended (exit code 1): bad key ');
  for (const text of [ready, logged]) expect(text).not.toContain(secret);
});
