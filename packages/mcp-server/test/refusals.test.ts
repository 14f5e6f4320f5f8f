// What a client reads when its message is refused, for each HTTP status that the door has: an error of JSON-RPC under the
// id of the request, or without an id where none was read.

import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { MODERN_META } from '@recourse/test-support/mcp-clients.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const KEY = 'the-key-of-acme-0123456789';
const READER = 'the-read-key-0123456789';
const RARE = 'the-rare-key-0123456789';
const LIMIT = 2000;

let service: RunningService;
beforeAll(async () => {
  const API_KEYS = [
    toKeyEntry('acme', KEY),
    toKeyEntry('acme', READER, 'may=read'),
    toKeyEntry('acme', RARE, 'rate=1/h'),
  ].join(',');
  service = await startService({ API_KEYS, MAX_BODY_BYTES: String(LIMIT) });
});
afterAll(() => service.stop());

type Headers = Readonly<Record<string, string>>;
type Sent = { readonly method: string; readonly headers?: Headers; readonly body?: string };

const send = async ({ method, headers = {}, body }: Sent) => {
  const answer = await fetch(`${service.url}/mcp`, {
    method,
    headers: { authorization: `Bearer ${KEY}`, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.text();
  // One of revision 2025-11-25 whose headers were good is answered by an event.
  const message: unknown = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
  return { status: answer.status, type: answer.headers.get('content-type'), message };
};

/** An answer without an id. */
const NONE = null;

const toError = (id: string | number | null, code: number, dataCode?: string): unknown => ({
  jsonrpc: '2.0',
  ...(id === NONE ? {} : { id }),
  error: {
    code,
    message: expect.any(String),
    ...(dataCode === undefined
      ? {}
      : { data: expect.objectContaining({ code: dataCode, request_id: expect.stringMatching(/^[0-9A-Z]{26}$/) }) }),
  },
});

type Era = { readonly headers: Headers; readonly params: object };
const BOTH = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const ERAS: ReadonlyMap<string, (method: string, name?: string) => Era> = new Map<
  string,
  (method: string, name?: string) => Era
>([
  ['2025-11-25', () => ({ headers: { ...BOTH, 'mcp-protocol-version': '2025-11-25' }, params: {} })],
  [
    '2026-07-28',
    (method, name) => ({
      headers: {
        ...BOTH,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(name === undefined ? {} : { 'mcp-name': name }),
      },
      params: { _meta: MODERN_META },
    }),
  ],
]);

describe.each([...ERAS])('revision %s', (revision, toEra) => {
  const list = toEra('tools/list');
  const LIST = { jsonrpc: '2.0', id: 7, method: 'tools/list', params: list.params };
  const isModern = revision === '2026-07-28';

  test.each([
    ['no JSON', '{"jsonrpc"', NONE, -32700, 'invalid_json'],
    ['nothing', '', NONE, -32700, 'invalid_json'],
    ['several messages', JSON.stringify([LIST]), NONE, -32600, 'invalid_message'],
    ['no object', '3', NONE, -32600, 'invalid_message'],
    ['no version of JSON-RPC', '{"id":7,"method":"tools/list"}', 7, -32600, 'invalid_message'],
    ['no method', '{"id":"a"}', 'a', -32600, 'invalid_message'],
    ['a method that is no text', JSON.stringify({ ...LIST, method: 5 }), 7, -32600, 'invalid_message'],
    ['an id that is no integer', JSON.stringify({ ...LIST, id: 1.5 }), NONE, -32600, 'invalid_message'],
    ['an id that is null', JSON.stringify({ ...LIST, id: null }), NONE, -32600, 'invalid_message'],
  ])('400: a body with %s', async (_what, body, id, code, dataCode) => {
    expect(await send({ method: 'POST', headers: list.headers, body })).toEqual({
      status: 400,
      type: 'application/json; charset=utf-8',
      message: toError(id, code, dataCode),
    });
  });

  test.each([
    ['a session that can be none', { 'mcp-session-id': 'a b' }, 400, 7, -32000, 'invalid_session_id'],
    ['a media type that is not JSON', { 'content-type': 'text/plain' }, 415, NONE, -32000, 'unsupported_media_type'],
    [
      'another charset',
      { 'content-type': 'application/json; charset=utf-16' },
      415,
      NONE,
      -32000,
      'unsupported_media_type',
    ],
    ['a key that nobody has', { authorization: 'Bearer nobody' }, 401, NONE, -32000, 'unauthorized'],
    ['a key that may not call', { authorization: `Bearer ${READER}` }, 403, NONE, -32000, 'operation_not_allowed'],
    ['another origin', { origin: 'https://evil.example' }, 403, NONE, -32000, 'forbidden_origin'],
  ])('%s', async (_what, headers, status, id, code, dataCode) => {
    const body = JSON.stringify(LIST);
    expect(await send({ method: 'POST', headers: { ...list.headers, ...headers }, body })).toEqual({
      status,
      type: 'application/json; charset=utf-8',
      message: toError(id, code, dataCode),
    });
  });

  test('413: a body over the limit', async () => {
    const body = JSON.stringify({ ...LIST, method: 'x'.repeat(LIMIT) });
    expect(await send({ method: 'POST', headers: list.headers, body })).toMatchObject({
      status: 413,
      message: toError(NONE, -32000, 'body_too_large'),
    });
  });

  test('an unknown revision names those that are known', async () => {
    const headers = { ...list.headers, 'mcp-protocol-version': '1999-01-01' };
    const params = isModern
      ? { _meta: { ...MODERN_META, 'io.modelcontextprotocol/protocolVersion': '1999-01-01' } }
      : {};
    const { status, message } = await send({ method: 'POST', headers, body: JSON.stringify({ ...LIST, params }) });
    expect({ status, message }).toEqual({
      status: 400,
      message: isModern ? toError(7, -32022, 'unsupported_revision') : toError(7, -32000, 'invalid_message'),
    });
    expect(JSON.stringify(message)).toContain(revision);
  });

  test('an unknown method', async () => {
    const { headers, params } = toEra('nope/x');
    const body = JSON.stringify({ ...LIST, method: 'nope/x', params });
    // 404 since 2026-07-28; before, an answer like any other.
    expect(await send({ method: 'POST', headers, body })).toMatchObject(
      isModern
        ? { status: 404, message: toError(7, -32601, 'unknown_method') }
        : { status: 200, message: toError(7, -32601) },
    );
  });

  test('parameters of a call that are none, and a tool that is unknown, which is a result', async () => {
    const { headers, params } = toEra('tools/call', 'nope');
    const call = { ...LIST, method: 'tools/call' };
    const sent = (own: object): Sent => ({
      method: 'POST',
      headers,
      body: JSON.stringify({ ...call, params: { ...own, ...params } }),
    });
    expect(await send(sent({ arguments: {} }))).toMatchObject({ status: 200, message: toError(7, -32602) });
    expect(await send(sent({ name: 'nope' }))).toMatchObject({
      status: 200,
      message: { id: 7, result: { isError: true, _meta: { 'recourse/result': { code: 'unknown_tool' } } } },
    });
  });
});

test('406: one that takes no events, before 2026-07-28', async () => {
  const headers = { ...BOTH, accept: 'application/json' };
  const body = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';
  expect(await send({ method: 'POST', headers, body })).toMatchObject({
    status: 406,
    message: toError(7, -32000, 'invalid_message'),
  });
});

test('400: headers that say something else than the body, under the id of the request', async () => {
  const toEra = ERAS.get('2026-07-28');
  const { headers = {}, params } = toEra?.('tools/call', 'read_file') ?? {};
  const call = { name: 'echo', arguments: { text: 'x' }, ...params };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'a', method: 'tools/call', params: call });
  expect(await send({ method: 'POST', headers, body })).toMatchObject({
    status: 400,
    message: toError('a', -32020, 'header_mismatch'),
  });
});

test('429: a key that has come too often, with the time after which it may come again', async () => {
  const sent: Sent = {
    method: 'POST',
    headers: { ...BOTH, authorization: `Bearer ${RARE}` },
    body: '{"jsonrpc":"2.0","id":7,"method":"ping"}',
  };
  expect(await send(sent)).toMatchObject({ status: 200 });
  expect(await send(sent)).toMatchObject({ status: 429, message: toError(NONE, -32000, 'rate_limited') });
});

test('a response that a client posts is accepted, and answered by nothing', async () => {
  const answer = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: { ...BOTH, authorization: `Bearer ${KEY}` },
    body: '{"jsonrpc":"2.0","id":7,"result":{}}',
  });
  expect({ status: answer.status, text: await answer.text() }).toEqual({ status: 202, text: '' });
});

describe('methods of HTTP beside POST', () => {
  const DELETE = { method: 'DELETE', headers: { 'mcp-session-id': 's' } };

  test.each<[string, Sent, number, string]>([
    ['a stream of its own', { method: 'GET', headers: { accept: 'text/event-stream' } }, 405, 'method_not_allowed'],
    ['another method', { method: 'PUT', headers: BOTH, body: '{' }, 405, 'method_not_allowed'],
    ['an end without a session', { method: 'DELETE' }, 400, 'invalid_session_id'],
    ['an end without a key', { ...DELETE, headers: { authorization: 'Bearer nobody' } }, 401, 'unauthorized'],
  ])('%s is refused as JSON-RPC', async (_what, sent, status, dataCode) => {
    expect(await send(sent)).toEqual({
      status,
      type: 'application/json; charset=utf-8',
      message: toError(NONE, -32000, dataCode),
    });
  });

  test('a session that has ended is 404 under the id of the request', async () => {
    const ended = await fetch(`${service.url}/mcp`, {
      ...DELETE,
      headers: { ...DELETE.headers, authorization: `Bearer ${KEY}` },
    });
    expect(ended.status).toBe(204);
    const body = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';
    expect(await send({ method: 'POST', headers: { ...BOTH, ...DELETE.headers }, body })).toMatchObject({
      status: 404,
      message: toError(7, -32001, 'session_not_found'),
    });
  });
});

// The last one: what drains does not come back.
test('503: a service that stops', async () => {
  service.drain();
  const body = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';
  for (const sent of [{ method: 'POST', headers: BOTH, body }, { method: 'GET' }])
    expect(await send(sent)).toEqual({
      status: 503,
      type: 'application/json; charset=utf-8',
      message: toError(NONE, -32000, 'draining'),
    });
});
