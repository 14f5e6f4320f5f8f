import { connect, connectEarlier, post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

let service: RunningService;
let url: string;
beforeAll(async () => {
  service = await startService();
  url = service.url;
});
afterAll(() => service.stop());

const ECHO = { name: 'echo', arguments: { text: 'hello' } };
const ECHOED = {
  content: [{ type: 'text', text: '{"text":"hello"}' }],
  structuredContent: { text: 'hello' },
  isError: false,
};
const NAMES = ['echo', 'fetch_url', 'list_files', 'read_file', 'search_files', 'write_file'];

test("the SDK's client of revision 2026-07-28 lists and calls tools, without a session", async () => {
  const { client, transport } = await connect(url, 'modern');

  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
  expect(transport.sessionId).toBeUndefined();
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(NAMES);
  expect(await client.callTool(ECHO)).toMatchObject(ECHOED);
});

test("the SDK's client of revision 2025-11-25 gets a session, lists and calls tools", async () => {
  const { client, transport } = await connect(url, 'legacy');

  expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25');
  expect(transport.sessionId).toMatch(/^[0-9a-f-]{36}$/);
  expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: false } });
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(NAMES);
  expect(await client.callTool(ECHO)).toMatchObject(ECHOED);
});

test("the client of the SDK's first major version works as it is", async () => {
  const { client, sessionId } = await connectEarlier(url);

  expect(sessionId).toMatch(/^[0-9a-f-]{36}$/);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(NAMES);
  expect(await client.callTool(ECHO)).toMatchObject(ECHOED);
});

test.each(['2025-11-25', '2025-06-18', '2025-03-26'])(
  'revision %s is agreed on, and its requests need no initialize and no session',
  async (revision) => {
    const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const { headers, messages } = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
    expect(messages).toMatchObject([
      { id: 0, result: { protocolVersion: revision, serverInfo: { name: 'recourse' } } },
    ]);
    expect(headers.get('mcp-session-id')).toMatch(/^[0-9a-f-]{36}$/);

    const version = { 'mcp-protocol-version': revision };
    const called = await post(url, { jsonrpc: '2.0', id: 'a', method: 'tools/call', params: ECHO }, version);
    expect(called).toMatchObject({ status: 200, messages: [{ jsonrpc: '2.0', id: 'a', result: ECHOED }] });
    const listed = await post(url, { jsonrpc: '2.0', id: 2, method: 'tools/list' }, version);
    expect(listed).toMatchObject({
      status: 200,
      messages: [{ id: 2, result: { tools: NAMES.map((name) => ({ name })) } }],
    });
  },
);

test('a request of revision 2026-07-28 by plain HTTP is answered as one JSON body', async () => {
  const called = await postModern(url, 'tools/call', ECHO);
  expect(called).toMatchObject({ status: 200, messages: [{ id: 1, result: { ...ECHOED, resultType: 'complete' } }] });
  expect(called.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(called.headers.get('x-request-id')).toMatch(/^[0-9A-Z]{26}$/);
  expect(called.headers.get('mcp-session-id')).toBeNull();
  expect(await postModern(url, 'server/discover')).toMatchObject({
    messages: [{ result: { supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } } } }],
  });
});

test('a client that takes anything is answered; one that takes events only is told what it must take', async () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

  expect(await post(url, list, { accept: '*/*' })).toMatchObject({ status: 200, messages: [{ id: 1 }] });
  expect(await post(url, list, { accept: 'text/event-stream' })).toMatchObject({ status: 406 });
});

test('a notification is accepted with 202, an unknown method and an unknown revision are errors of the protocol', async () => {
  expect(await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' })).toMatchObject({
    status: 202,
    messages: [],
  });
  const unknown = await post(url, { jsonrpc: '2.0', id: 3, method: 'resources/list' });
  expect(unknown).toMatchObject({ status: 200, messages: [{ id: 3, error: { code: -32601 } }] });
  const list = { jsonrpc: '2.0', id: 4, method: 'tools/list' };
  expect(await post(url, list, { 'mcp-protocol-version': '1999-01-01' })).toMatchObject({ status: 400 });
});

test('GET is 405: changes are told on the answer to subscriptions/listen', async () => {
  const got = await fetch(`${url}/mcp`, { headers: { accept: 'text/event-stream' } });
  expect(got.status).toBe(405);
  expect(got.headers.get('allow')).toBe('POST, DELETE');
});

test('with MCP_SERVER=false there is nothing at /mcp', async () => {
  const closed = await startService({ MCP_SERVER: 'false' });
  onTestFinished(closed.stop);

  for (const method of ['POST', 'GET', 'DELETE']) {
    const body = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {};
    expect((await fetch(`${closed.url}/mcp`, { method, ...body })).status).toBe(404);
  }
});
