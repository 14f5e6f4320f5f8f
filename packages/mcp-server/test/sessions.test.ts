import { createActor } from '@recourse/test-support/keyed-client.ts';
import { type ConnectedClient, connect, detailOf, post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { SessionView } from 'recourse-server/internal/contract/session.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

let misses = 0;
/** A failing call, another one each time: the same again and again would be a loop. */
const miss = (client: ConnectedClient['client'], meta: Readonly<Record<string, unknown>> = {}) => {
  misses += 1;
  return client.callTool({ name: 'read_file', arguments: { path: `no such file ${misses}` }, _meta: { ...meta } });
};

const codesOf = async (calls: number, call: () => ReturnType<typeof miss>): Promise<readonly unknown[]> => {
  const codes: unknown[] = [];
  for (let n = 0; n < calls; n += 1) codes.push(detailOf(await call())['code']);
  return codes;
};

const viewOf = async (url: string, id: string): Promise<SessionView> =>
  SessionView.parse(await (await fetch(`${url}/sessions/${id}`)).json());

let shared: RunningService;
beforeAll(async () => {
  shared = await startService();
});
afterAll(() => shared.stop());

// Each test names sessions of its own.
const start = (): string => shared.url;

const sessionOf = ({ transport: { sessionId } }: ConnectedClient): string => {
  if (sessionId === undefined) throw new Error('The client has no session.');
  return sessionId;
};

test('the session of the transport is a session of the service: its budget runs out, and GET /sessions shows it', async () => {
  const url = start();
  const connected = await connect(url, 'legacy');

  expect(await codesOf(5, () => miss(connected.client))).toEqual([
    'tool_exception',
    'tool_exception',
    'tool_exception',
    'tool_exception',
    'retry_budget_exhausted',
  ]);
  const refused = await miss(connected.client);
  expect(refused).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("'read_file' failed 4 times in a row and is blocked") }],
  });
  expect(detailOf(refused)).toMatchObject({ outcome: 'refused', executed: 'no', retry: { allowed: false } });
  expect(await viewOf(url, sessionOf(connected))).toMatchObject({
    session: { calls: 4 },
    tools: [{ name: 'read_file', exhausted: true, used: 3 }],
  });
  expect(await connected.client.callTool({ name: 'echo', arguments: { text: 'x' } })).toMatchObject({ isError: false });

  const other = await connect(url, 'legacy');
  expect(detailOf(await miss(other.client))['code']).toBe('tool_exception');
});

test('two replicas share the sessions of one Redis, whichever of them opened it', async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const environment = { REDIS_URL: redis.url };
  const [first, second] = await Promise.all([
    startProcess({ by: 'node', environment }),
    startProcess({ by: 'node', environment }),
  ]);
  const opened = await connect(first.url, 'legacy');
  const session = { 'mcp-session-id': sessionOf(opened) };
  const missAt = async (url: string): Promise<unknown> => {
    misses += 1;
    const params = { name: 'read_file', arguments: { path: `no such file ${misses}` } };
    const { messages } = await post(url, { jsonrpc: '2.0', id: misses, method: 'tools/call', params }, session);
    const result: unknown = messages[0]?.['result'];
    return typeof result === 'object' && result !== null ? detailOf(result) : messages;
  };
  await expect.poll(() => missAtFresh(first.url), { timeout: timeLimit(15_000) }).toBe('redis');
  await expect.poll(() => missAtFresh(second.url), { timeout: timeLimit(15_000) }).toBe('redis');

  expect(await missAt(second.url)).toMatchObject({ code: 'tool_exception', retry: { used: 0, mode: 'redis' } });
  expect(await missAt(first.url)).toMatchObject({ code: 'tool_exception', retry: { used: 1 } });
  expect(await missAt(second.url)).toMatchObject({ code: 'tool_exception', retry: { used: 2 } });
  expect(detailOf(await miss(opened.client))).toMatchObject({ code: 'tool_exception', retry: { used: 3 } });
  expect(await missAt(second.url)).toMatchObject({ code: 'retry_budget_exhausted', executed: 'no' });
  expect(await missAt(first.url)).toMatchObject({ code: 'retry_budget_exhausted' });

  await opened.transport.terminateSession();
  expect(await post(second.url, { jsonrpc: '2.0', id: 7, method: 'tools/list' }, session)).toMatchObject(ENDED);
  expect(await post(first.url, { jsonrpc: '2.0', id: 7, method: 'ping' }, session)).toMatchObject(ENDED);
});

const ENDED = {
  status: 404,
  messages: [
    {
      id: 7,
      error: { code: -32001, message: 'This session has ended. Start a new one with initialize.' },
    },
  ],
};

// In a session of its own each time: which store it is kept in, once Redis has answered.
const missAtFresh = async (url: string): Promise<unknown> => {
  misses += 1;
  const answer = await postModern(url, 'tools/call', {
    name: 'read_file',
    arguments: { path: 'no such file' },
    _meta: { 'recourse/session_id': `fresh ${misses}` },
  });
  const result: unknown = answer.messages[0]?.['result'];
  const retry: unknown = typeof result === 'object' && result !== null ? detailOf(result)['retry'] : null;
  return typeof retry === 'object' && retry !== null ? Reflect.get(retry, 'mode') : null;
};

test('a request without a session has a budget of its own; one that names a session in _meta has that', async () => {
  const url = start();
  const { client } = await connect(url, 'modern');

  expect(await codesOf(6, () => miss(client))).toEqual(Array.from({ length: 6 }, () => 'tool_exception'));
  const meta = { 'recourse/session_id': 'agent 1' };
  expect((await codesOf(5, () => miss(client, meta))).at(-1)).toBe('retry_budget_exhausted');
  expect(await viewOf(url, 'agent%201')).toMatchObject({ tools: [{ name: 'read_file', exhausted: true }] });
  expect(detailOf(await miss(client, { 'recourse/session_id': 'agent 2' }))['code']).toBe('tool_exception');
});

test('in revision 2026-07-28 a header names the session too, and by setting all calls of a key share one', async () => {
  const service = await startService({ MCP_DEFAULT_SESSION: 'key' });
  onTestFinished(service.stop);
  const { url } = service;
  const byHeader = await connect(url, 'modern', { 'mcp-session-id': 'by-header' });
  const byKey = await connect(url, 'modern');

  expect((await codesOf(5, () => miss(byHeader.client))).at(-1)).toBe('retry_budget_exhausted');
  expect(await viewOf(url, 'by-header')).toMatchObject({ tools: [{ name: 'read_file', exhausted: true }] });
  expect((await codesOf(5, () => miss(byKey.client))).at(-1)).toBe('retry_budget_exhausted');
  expect(await viewOf(url, 'mcp')).toMatchObject({ tools: [{ name: 'read_file', exhausted: true }] });
});

test('calls of one model turn that name one round count once', async () => {
  const { client } = await connect(start(), 'legacy');
  const inRound = (round: string) => () => miss(client, { 'recourse/round_id': round });

  expect(await codesOf(6, inRound('turn 1'))).toEqual(Array.from({ length: 6 }, () => 'tool_exception'));
  expect(detailOf(await miss(client, { 'recourse/round_id': 'turn 2' }))).toMatchObject({ retry: { used: 1 } });
});

test('a call with an idempotency key runs once; the same key with another call is a mistake of the request', async () => {
  const url = start();
  const { client } = await connect(url, 'modern');
  const write = (content: string) =>
    client.callTool({
      name: 'echo',
      arguments: { text: content },
      _meta: { 'recourse/session_id': 's', 'recourse/idempotency_key': 'key 1' },
    });

  const first = await write('once');
  expect(first).toMatchObject({ structuredContent: { text: 'once' } });
  expect(detailOf(first)).not.toHaveProperty('replayed');
  expect(detailOf(await write('once'))).toMatchObject({ outcome: 'success', replayed: true });
  await expect(write('twice')).rejects.toMatchObject({ code: -32602, data: { code: 'idempotency_key_reused' } });
  expect((await viewOf(url, 's')).session.calls).toBe(1);

  const kept = await fetch(`${url}/tool-calls/${String(detailOf(first)['request_id'])}`);
  expect(await kept.json()).toMatchObject({ results: [{ value: { text: 'once' } }] });
});

test('a write with a call id runs once in its session, at this door and at the other', async () => {
  const write = createActor('write', { effects: 'write' });
  const service = await startService({}, [write.tool]);
  onTestFinished(service.stop);
  const { client } = await connect(service.url, 'modern');
  const send = (n: number, meta: Readonly<Record<string, unknown>>) =>
    client.callTool({ name: 'write', arguments: { n }, _meta: { 'recourse/call_id': 'call_1', ...meta } });
  const inSession = { 'recourse/session_id': 's' };

  expect(detailOf(await send(1, inSession))).not.toHaveProperty('replayed');
  expect(detailOf(await send(1, inSession))).toMatchObject({ outcome: 'success', replayed: true });
  expect(detailOf(await send(2, inSession))).toMatchObject({ code: 'invalid_call', executed: 'no' });
  expect(detailOf(await send(1, {}))).toMatchObject({ code: 'invalid_call', executed: 'no' });
  await expect(send(1, { ...inSession, 'recourse/idempotency_key': 'k' })).rejects.toMatchObject({ code: -32602 });
  const calls = [{ id: 'call_1', name: 'write', arguments: { n: 1 } }];
  const [result] = await service.call(calls, { session_id: 's', idempotency: 'call_id' });
  expect(result).toMatchObject({ id: 'call_1', value: { n: 1 }, replayed: true });
  expect(write.asked).toHaveLength(1);
});

test.each([
  ['recourse/session_id', ''],
  ['recourse/session_id', 'x'.repeat(257)],
  ['recourse/session_id', 7],
  ['recourse/round_id', 'x'.repeat(65)],
  ['recourse/round_id', 'täglich'],
  ['recourse/idempotency_key', ''],
  ['recourse/idempotency_key', 'a\nb'],
  ['recourse/idempotency_key', {}],
  ['recourse/call_id', ''],
  ['recourse/call_id', 7],
])('a bad %s (%j) is a mistake of the request, and nothing runs', async (key, value) => {
  const url = start();
  const params = { name: 'echo', arguments: { text: 'x' }, _meta: { [key]: value } };

  for (const answer of [
    await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    await postModern(url, 'tools/call', params),
  ])
    expect(answer).toMatchObject({ status: 200, messages: [{ id: 1, error: { code: -32602 } }] });
});

test.each(['', 'has blank', 'ümlaut', 'x'.repeat(257)])('%j is no session', async (id) => {
  const url = start();

  expect(await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'mcp-session-id': id })).toMatchObject({
    status: 400,
    messages: [{ id: 1, error: { code: -32000, data: { code: 'invalid_session_id' } } }],
  });
});

test('DELETE ends the session: what it has used up is fresh again, and whoever goes on with it is told', async () => {
  const url = start();
  const connected = await connect(url, 'legacy');
  const id = sessionOf(connected);
  expect((await codesOf(5, () => miss(connected.client))).at(-1)).toBe('retry_budget_exhausted');

  await connected.transport.terminateSession();
  expect(await viewOf(url, id)).toMatchObject({ session: { rounds: 0 }, tools: [], calls: [] });
  const { status } = await fetch(`${url}/mcp`, { method: 'DELETE' });
  expect(status).toBe(400);
  const session = { 'mcp-session-id': id };
  for (const method of ['tools/list', 'ping', 'tools/call'])
    expect(await post(url, { jsonrpc: '2.0', id: 7, method, params: { name: 'echo' } }, session)).toMatchObject(ENDED);
  // Also by naming it in _meta, with another session in the header or none.
  const call = { name: 'echo', arguments: { text: 'x' }, _meta: { 'recourse/session_id': id } };
  const named = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: call };
  for (const headers of [{}, { 'mcp-session-id': 'another' }])
    expect(await post(url, named, headers)).toMatchObject(ENDED);
  const watched = { ...named, params: { ...call, _meta: { ...call._meta, progressToken: 1 } } };
  expect(await post(url, watched)).toMatchObject(ENDED);
  expect(await postModern(url, 'tools/call', call)).toMatchObject({ status: 200 });
  // It goes on as what it is elsewhere, a name.
  expect(await postModern(url, 'tools/list', {}, session)).toMatchObject({ status: 200 });
  expect((await connect(url, 'legacy')).transport.sessionId).not.toBe(id);
});
