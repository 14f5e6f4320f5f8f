import { once } from 'node:events';
import { createServer } from 'node:net';
import { startHttpTarget } from '@recourse/test-support/http-target.ts';
import { runToEnd, startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

const startWithOpsPort = async (environment: Readonly<Record<string, string>> = {}) => {
  const running = await startProcess({ by: 'node', environment: { OPS_PORT: '0', ...environment } });
  const listening = await running.logged('listening');
  const opsPort = listening['ops_port'];
  if (typeof opsPort !== 'number') throw new Error('The log line `listening` names no ops_port.');
  return { running, opsPort, opsUrl: `http://127.0.0.1:${opsPort}` };
};

const statusesOf = (url: string, paths: readonly string[]): Promise<readonly number[]> =>
  Promise.all(paths.map(async (path) => (await fetch(`${url}${path}`)).status));

const OPS_PATHS = ['/live', '/ready', '/metrics'];
const CALLER_PATHS = ['/tools', '/openapi.json', '/docs', '/sessions/s_1'];

test('with OPS_PORT health and metrics are there, and nowhere else', async () => {
  const { running, opsUrl } = await startWithOpsPort();
  expect(await statusesOf(opsUrl, OPS_PATHS)).toEqual([200, 200, 200]);
  expect(await statusesOf(running.url, OPS_PATHS)).toEqual([404, 404, 404]);
  expect(await statusesOf(running.url, CALLER_PATHS)).toEqual([200, 200, 200, 200]);
  expect(await statusesOf(opsUrl, CALLER_PATHS)).toEqual([404, 404, 404, 404]);
});

test('the port of metrics takes no calls, and counts those of the other port', async () => {
  const { running, opsUrl } = await startWithOpsPort();
  await callService(running.url, [{ name: 'echo', arguments: { text: 'x' } }]);
  const body = JSON.stringify({ calls: [{ name: 'echo', arguments: { text: 'x' } }] });
  const headers = { 'content-type': 'application/json' };
  expect((await fetch(`${opsUrl}/tool-calls`, { method: 'POST', headers, body })).status).toBe(404);
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
  expect(metrics).toContain('recourse_tool_calls_total{tool="echo",outcome="success",code="ok",fault="none"} 1\n');
  expect(metrics).toContain('recourse_http_requests_total{method="POST",route="/tool-calls",status_code="200"} 1\n');
});

test('what is not served on the port of metrics is refused in the usual form', async () => {
  const { opsUrl } = await startWithOpsPort();
  const answer = await fetch(`${opsUrl}/metrics`, { method: 'DELETE' });
  expect(answer.status).toBe(405);
  expect(answer.headers.get('allow')).toBe('GET, HEAD');
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
});

test('it says that the service drains until the last answer is given, and the exit code is 0', async () => {
  const held = Promise.withResolvers<() => void>();
  const target = await startHttpTarget((response) => {
    held.resolve(() => response.writeHead(200, { 'content-type': 'text/plain' }).end('at last'));
  });
  const { running, opsUrl } = await startWithOpsPort({ FETCH_ALLOW_PRIVATE: 'true' });
  const answer = callService(running.url, [{ name: 'fetch_url', arguments: { url: target.origin } }]);
  const release = await held.promise;
  running.send('SIGTERM', 'service');
  await running.logged('draining');
  const ready = await fetch(`${opsUrl}/ready`);
  expect([ready.status, await ready.json()]).toMatchObject([503, { status: 'draining' }]);
  expect(await statusesOf(opsUrl, ['/live', '/metrics'])).toEqual([200, 200]);
  release();
  expect(await answer).toMatchObject([{ outcome: 'success' }]);
  expect(await running.exited).toEqual({ code: 0, signal: null });
});

test('an OPS_PORT that is in use is one clear line', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const ended = await runToEnd({ by: 'node', environment: { PORT: '0', OPS_PORT: String(port) } });
  expect(ended.code).toBe(1);
  expect(ended.stderr).toBe(
    `recourse: port ${port} on 127.0.0.1 is in use: stop the process that listens on it, or set OPS_PORT.\n`,
  );
});
