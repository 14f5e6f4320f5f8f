import { spawn } from 'node:child_process';
import { createCountFile, servers, startMcpLab, until } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { findFreePort, startHttpServer } from '@recourse/test-support/mcp-servers/start-http-server.ts';
import { expect, test } from 'vitest';

test('a server that goes away keeps its tools, marked; each call says so at once; and it is used again when it is back', async () => {
  await using count = await createCountFile();
  const port = await findFreePort();
  const reason = `no connection to 127.0.0.1:${port} (ECONNREFUSED)`;
  const first = await startHttpServer(port, count.path);
  await using lab = await startMcpLab({ url: first.url });
  expect(await lab.call('lab_echo')).toMatchObject({ success: true });
  await first.stop();
  expect(await lab.call('lab_echo')).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    error: { code: 'upstream_unavailable' },
  });
  await until(() => expect(lab.upstream.state()).toMatchObject({ status: 'down', reason, tools: 14 }));
  await until(() => expect(lab.latest().unreachable?.get('lab_echo')).toBe(reason));
  expect(await lab.call('lab_headers')).toMatchObject({
    executed: 'no',
    message: expect.stringMatching(
      /^The MCP server 'lab' is not connected: no connection to 127\.0\.0\.1:\d+ \(ECONNREFUSED\)\. Try again in 1 second or use another tool\./,
    ),
    error: { code: 'upstream_unavailable', retry_after_ms: expect.any(Number) },
  });
  await using _second = await startHttpServer(port, count.path);
  await until(() => expect(lab.upstream.state()).toMatchObject({ status: 'up', reason: null, reconnects: 1 }));
  expect(lab.latest().unreachable).toBeUndefined();
  await until(async () =>
    expect(await lab.call('lab_limited')).toMatchObject({ error: { code: 'upstream_rate_limited' } }),
  );
});

test('a server of 2024 is reached over SSE; where its stream breaks, the answer is lost and the connection made anew', async () => {
  await using count = await createCountFile();
  await using server = await startHttpServer(await findFreePort(), count.path, 'old');
  await using lab = await startMcpLab({ url: server.url }, { timing: { pingWithinMs: 60_000 } });
  expect(await lab.call('lab_echo')).toMatchObject({ success: true, value: 'over SSE' });
  expect(await lab.call('lab_drop')).toMatchObject({ executed: 'maybe', error: { code: 'upstream_unavailable' } });
  await until(() => expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 1 }));
  await using explicit = await startMcpLab({ type: 'sse', url: server.url });
  expect(explicit.upstream.state()).toMatchObject({ status: 'up', tools: 14 });
});

test('a server that refuses our credentials is down, and says that a person is needed', async () => {
  await using count = await createCountFile();
  await using server = await startHttpServer(await findFreePort(), count.path, 'locked');
  await using lab = await startMcpLab({ url: server.url });
  expect(lab.upstream.state()).toMatchObject({
    status: 'down',
    reason: 'it rejects the credentials (HTTP 401)',
    tools: 0,
  });
});

test('the server of the official examples is served over Streamable HTTP', async () => {
  const port = await findFreePort();
  const { command, args } = servers.everything('streamableHttp');
  const child = spawn(command, args, { env: { PATH: process.env['PATH'], PORT: String(port) }, stdio: 'ignore' });
  await using lab = await startMcpLab({ url: `http://127.0.0.1:${port}/mcp` });
  await until(() => expect(lab.upstream.state().status).toBe('up'));
  expect(await lab.call('lab_echo', { message: 'hi' })).toMatchObject({ success: true, value: 'Echo: hi' });
  await lab.upstream.stop();
  child.kill('SIGKILL');
});

test('a server of the 2026 revision is called without a session, and hears of a call that is given up', async () => {
  const port = await findFreePort();
  const { command, args } = servers.modernHttp(String(port));
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const said: string[] = [];
  child.stdout.on('data', (text) => void said.push(String(text)));
  await until(() => expect(said).toContain('ready\n'));
  await using lab = await startMcpLab(
    { type: 'http', url: `http://127.0.0.1:${port}/mcp` },
    { timing: { pingEveryMs: 50 } },
  );
  expect(await lab.call('lab_add', { x: 1, y: 2 })).toMatchObject({ success: true, value: '3' });
  expect(await lab.call('lab_wait', {}, { timeout_ms: 200 })).toMatchObject({ error: { code: 'timeout' } });
  await until(() => expect(said).toContain('cancelled\n'));
  expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 0 });
  await lab.upstream.stop();
  child.kill('SIGKILL');
});
