import { createCountFile, isRunning, servers, startMcpLab, until } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { expect, test } from 'vitest';

test('a server killed while a write runs: it may have happened, it was asked once, and it is started again', async () => {
  await using count = await createCountFile();
  await using lab = await startMcpLab(servers.scripted('plain', count.path));
  const calling = lab.call('lab_count_and_wait');
  const [pid] = await until(async () => {
    const lines = await count.lines();
    expect(lines).toHaveLength(1);
    return lines;
  });
  process.kill(Number(pid), 'SIGKILL');
  expect(await calling).toMatchObject({
    success: false,
    outcome: 'unknown',
    executed: 'maybe',
    message: expect.stringContaining(
      "The connection to the MCP server 'lab' was lost before it answered: the connection has ended. The call may or may not have taken effect. Check before calling it again.",
    ),
    error: { code: 'upstream_unavailable' },
  });
  await until(() => expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 1 }));
  expect(await lab.call('lab_echo', { text: 'again' })).toMatchObject({ success: true, value: 'again' });
  expect(await count.lines()).toHaveLength(1);
});

test('while a server is down its tools stay, marked, and each call says at once when to try again', async () => {
  await using count = await createCountFile();
  await using lab = await startMcpLab(servers.scripted('plain', count.path), {
    timing: { firstBackoffMs: 70_000, maxBackoffMs: 70_000 },
  });
  expect(await lab.call('lab_count_and_die')).toMatchObject({ executed: 'maybe' });
  await until(() =>
    expect(lab.upstream.state()).toMatchObject({ status: 'down', reason: 'its process ended (SIGKILL)' }),
  );
  expect(lab.latest().unreachable?.get('lab_echo')).toBe('its process ended (SIGKILL)');
  expect(lab.latest().tools.map(({ name }) => name)).toContain('lab_echo');
  const result = await lab.call('lab_count_and_wait');
  expect(result).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    message: expect.stringMatching(
      /^The MCP server 'lab' is not connected: its process ended \(SIGKILL\)\. Try again in \d\d seconds or use another tool\./,
    ),
    error: { code: 'upstream_unavailable' },
  });
  expect(result.error?.retry_after_ms).toBeGreaterThan(30_000);
  expect(await count.lines()).toHaveLength(1);
});

test('a call that takes too long ends alone, the server hears of it, and the connection stays', async () => {
  await using count = await createCountFile();
  await using lab = await startMcpLab(servers.scripted('plain', count.path));
  expect(await lab.call('lab_wait', {}, { timeout_ms: 200 })).toMatchObject({ error: { code: 'timeout' } });
  await until(async () => expect(await count.lines()).toEqual([expect.stringMatching(/^cancelled \d+$/)]));
  expect(await lab.call('lab_echo', { text: 'a' })).toMatchObject({ success: true });
  expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 0 });
});

test('a server that hangs is found out by a ping, killed, and started again', async () => {
  await using lab = await startMcpLab(servers.scripted(), { timing: { pingEveryMs: 100, pingWithinMs: 4_000 } });
  const { value: pid } = await lab.call('lab_pid');
  expect(await lab.call('lab_block', {}, { timeout_ms: 200 })).toMatchObject({ error: { code: 'timeout' } });
  await until(() =>
    expect(lab.logged).toContainEqual({
      level: 'warn',
      message: 'MCP server down',
      fields: { reason: 'it did not answer a ping' },
    }),
  );
  await until(() => expect(lab.upstream.state().status).toBe('up'));
  expect(lab.upstream.state().reconnects).toBeGreaterThan(0);
  expect(await isRunning(Number(pid))).toBe(false);
});

test('a server that crashes at its start is tried again and again, with its last words in the log', async () => {
  await using lab = await startMcpLab(servers.scripted('crash'));
  expect(lab.upstream.state()).toEqual({
    name: 'mcp:lab',
    status: 'down',
    reason: 'its process ended (exit code 3): the licence has expired',
    tools: 0,
    reconnects: 0,
  });
  const words = {
    level: 'info',
    message: 'MCP server stderr',
    fields: { text: 'the licence has expired' },
  };
  await until(() => expect(lab.logged.filter(({ message }) => message === words.message).length).toBeGreaterThan(1));
  expect(lab.logged).toContainEqual(words);
  expect(lab.logged.filter(({ message }) => message === 'MCP server down')).toHaveLength(1);
});

test('a program that is not there is a reason, no exception', async () => {
  await using lab = await startMcpLab({ command: '/no/such/program' });
  expect(lab.upstream.state()).toMatchObject({ status: 'down', reason: expect.stringContaining('(ENOENT)') });
});

test('what is no message on stdout is logged within bounds and changes nothing', async () => {
  await using lab = await startMcpLab(servers.scripted('garbage'));
  expect(await lab.call('lab_echo', { text: 'a' })).toMatchObject({ success: true });
  const lines = lab.logged.filter(({ message }) => message === 'output of an MCP server is not an MCP message');
  expect(lines[0]?.fields).toEqual({ text: 'Welcome to my server!' });
  expect(lines).toHaveLength(20);
});

test('a slow server does not hold up the start, and its tools come later', async () => {
  await using lab = await startMcpLab(servers.scripted('slow'), { timing: { startMs: 50 } });
  expect(lab.upstream.state()).toMatchObject({ status: 'connecting', tools: 0 });
  expect(lab.offers).toHaveLength(1);
  await until(() => expect(lab.upstream.state().status).toBe('up'));
  expect(lab.latest().tools.map(({ name }) => name)).toContain('lab_echo');
});

test('a server that never answers the handshake is given up and tried again', async () => {
  await using lab = await startMcpLab(servers.scripted('silent'), { timing: { startMs: 50, connectMs: 300 } });
  await until(() =>
    expect(lab.upstream.state()).toMatchObject({ status: 'down', reason: 'it did not answer in time' }),
  );
});

test('stop ends the server and all that it started, also one that takes no notice', async () => {
  const lab = await startMcpLab(servers.scripted('stubborn'), { timing: { graceMs: 200 } });
  await using _end = lab;
  const pids = [await lab.call('lab_pid'), await lab.call('lab_grandchild')].map((result) => Number(result.value));
  expect(await Promise.all(pids.map(isRunning))).toEqual([true, true]);
  await lab.upstream.stop();
  await until(async () => expect(await Promise.all(pids.map(isRunning))).toEqual([false, false]));
  expect(await lab.call('lab_pid')).toMatchObject({ executed: 'no', error: { code: 'upstream_unavailable' } });
});

test('kill ends the processes of a server without waiting', async () => {
  await using lab = await startMcpLab(servers.scripted('stubborn'), { timing: { firstBackoffMs: 60_000 } });
  const pids = [await lab.call('lab_pid'), await lab.call('lab_grandchild')].map((result) => Number(result.value));
  lab.upstream.kill();
  await until(async () => expect(await Promise.all(pids.map(isRunning))).toEqual([false, false]));
});
