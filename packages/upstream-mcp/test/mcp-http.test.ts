import {
  type CountFile,
  createCountFile,
  type McpLab,
  startMcpLab,
  until,
} from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import {
  findFreePort,
  type HttpServerProcess,
  startHttpServer,
} from '@recourse/test-support/mcp-servers/start-http-server.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let count: CountFile;
let server: HttpServerProcess;
let lab: McpLab;
beforeAll(async () => {
  count = await createCountFile();
  server = await startHttpServer(await findFreePort(), count.path);
  lab = await startMcpLab({ url: server.url, headers: { 'x-secret': 's3cret' } }, { maxResultBytes: 100_000 });
});
afterAll(async () => {
  await lab[Symbol.asyncDispose]();
  await server.stop();
  await count[Symbol.asyncDispose]();
});

const timesAsked = async (tool: string): Promise<number> =>
  (await count.lines()).filter((line) => line === tool).length;

test('a server is called over Streamable HTTP, with the headers of its settings', async () => {
  expect(await lab.call('lab_echo')).toMatchObject({ success: true, value: 'over HTTP' });
  expect(await lab.call('lab_headers')).toMatchObject({ success: true, value: 's3cret' });
});

test('a text of digits reaches a server that asks for an integer as bare digits, over HTTP', async () => {
  const { value } = await lab.call('lab_spelled', { id: '8123456789012345679', rows: [{ id: '-9007199254740993' }] });
  expect(value).toContain('"arguments":{"id":8123456789012345679,"rows":[{"id":-9007199254740993,"n":5}]}');
});

test('429 is the upstream that limits us, and its Retry-After is passed on', async () => {
  expect(await lab.call('lab_limited')).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    message: expect.stringContaining(
      "Rate limit of the MCP server 'lab' exceeded (429). Try again in 7 seconds or use another tool.",
    ),
    error: { code: 'upstream_rate_limited', retry_after_ms: 7_000 },
  });
  expect(await timesAsked('limited')).toBe(1);
});

test('503 of a write tool leaves open whether it took effect', async () => {
  expect(await lab.call('lab_broken')).toMatchObject({
    outcome: 'unknown',
    executed: 'maybe',
    message: expect.stringContaining(
      "The MCP server 'lab' is not available (HTTP 503). The call may or may not have taken effect. Check before calling it again.",
    ),
    error: { code: 'upstream_unavailable' },
  });
});

test('401 is for a person', async () => {
  expect(await lab.call('lab_locked')).toMatchObject({
    outcome: 'failed',
    message:
      "The MCP server 'lab' rejects the credentials of this service (HTTP 401). Calling again does not help: say that an operator must renew them.",
    error: { code: 'tool_failed' },
  });
});

test.each(['drop', 'lost'])('a call whose answer is lost (%s) is never sent again', async (tool) => {
  expect(await lab.call(`lab_${tool}`)).toMatchObject({
    outcome: 'unknown',
    executed: 'maybe',
    error: { code: 'upstream_unavailable' },
  });
  expect(await timesAsked(tool)).toBe(1);
  expect(await lab.call('lab_echo')).toMatchObject({ success: true });
});

test('a redirect to another origin is not followed, and 421 sends nothing twice', async () => {
  expect(await lab.call('lab_moved')).toMatchObject({
    outcome: 'failed',
    message: "The MCP server 'lab' rejects the request (HTTP 307). Use another tool, or say what could not be done.",
  });
  expect(await lab.call('lab_misdirected')).toMatchObject({ outcome: 'failed' });
  expect(await timesAsked('misdirected')).toBe(1);
});

test.each(['large_stream', 'large_body'])('an answer beyond the cap (%s) ends its own call alone', async (tool) => {
  const waiting = lab.call('lab_wait', {}, { timeout_ms: 2_000 });
  expect(await lab.call(`lab_${tool}`)).toMatchObject({
    executed: 'maybe',
    message: expect.stringContaining('is far larger than 100000 bytes and was not read.'),
    error: { code: 'retry_requested' },
  });
  expect(await timesAsked(tool)).toBe(1);
  expect(await waiting).toMatchObject({ error: { code: 'timeout' } });
  expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 0 });
});

// The server also ends its stream: where a busy machine tells of that first, the call meets a connection that goes.
test('a forgotten session is made anew, and the call that met it was not executed', async () => {
  await until(async () => expect(lab.upstream.state()).toMatchObject({ status: 'up' }));
  await lab.call('lab_forget');
  expect(await lab.call('lab_echo')).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    error: { code: 'upstream_unavailable', retry_after_ms: expect.any(Number) },
  });
  await until(async () => expect(await lab.call('lab_headers')).toMatchObject({ success: true }));
});
