import { connect, connectEarlier, post, postModern } from '@recourse/test-support/mcp-clients.ts';
import type { ToolDescription } from 'recourse-server/internal/contract/tool-description.ts';
import { toEndedResult } from 'recourse-server/internal/executor/render-result.ts';
import { expect, test } from 'vitest';
import { startRoute } from './start-route.ts';

const CALL = { name: 'echo', arguments: {} };

test('a bug of the service is told of, and its text goes to no client', async () => {
  const { url, bugs } = await startRoute({ executeBatch: () => Promise.reject(new Error('secret detail')) });

  const error = { code: -32603, message: 'The service failed; this is not a fault of the request. Try again.' };
  expect(await postModern(url, 'tools/call', CALL)).toMatchObject({ messages: [{ id: 1, error }] });
  const asked = await post(url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: CALL });
  expect(asked).toMatchObject({ messages: [{ id: 2, error }] });
  expect(bugs).toEqual([new Error('secret detail'), new Error('secret detail')]);
});

test('a replay that finds no room is told as such, and is no bug, whichever part of the door answers', async () => {
  const { url, bugs } = await startRoute({
    hasRoom: false,
    executeBatch: () => Promise.resolve({ kind: 'results', results: [toEndedResult(RESULT)], origin: 'replayed' }),
  });

  for (const params of [CALL, { ...CALL, _meta: { progressToken: 1 } }])
    expect(await postModern(url, 'tools/call', params)).toMatchObject({
      messages: [
        {
          id: 1,
          error: {
            code: -32000,
            message: expect.stringContaining('overloaded (request_memory)'),
            data: { code: 'overloaded', request_id: expect.any(String) },
          },
        },
      ],
    });
  expect(bugs).toEqual([]);
});

test('a key whose call still runs is an error that says when to ask again', async () => {
  const { url, bugs } = await startRoute({
    executeBatch: () => Promise.resolve({ kind: 'in_flight', retryAfterMs: 1500 }),
  });

  const data = { code: 'idempotency_key_in_flight', retry_after_ms: 1500 };
  expect(await postModern(url, 'tools/call', CALL)).toMatchObject({ messages: [{ error: { code: -32000, data } }] });
  expect(bugs).toEqual([]);
});

const RESULT =
  '{"index":0,"id":null,"name":"echo","success":true,"outcome":"success","executed":"yes","value":{"n":1},"message":"","error":null,"retry":null,"duration_ms":1}';

/** Posts a call as a client that takes `accept`, and gives all that it was sent. */
const ask = async (url: string, accept: string) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: CALL });
  const headers = { 'content-type': 'application/json', accept };
  const answer = await fetch(`${url}/mcp`, { method: 'POST', headers, body });
  return { type: answer.headers.get('content-type'), text: await answer.text() };
};

test('a call that takes long shows a sign of life to who takes events, and is answered by one body to others', async () => {
  const { url } = await startRoute({
    executeBatch: async () => {
      await new Promise((resolve) => setTimeout(resolve, 70));
      return { kind: 'results', results: [toEndedResult(RESULT)], origin: 'run' };
    },
  });
  const message =
    '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\\"n\\":1}"}],"structuredContent":{"n":1},"isError":false}}';

  const streamed = await ask(url, 'application/json, text/event-stream');
  expect(streamed.type).toBe('text/event-stream');
  expect(streamed.text).toMatch(/^(: the call is still running\n\n)+event: message\ndata: /);
  expect(streamed.text.endsWith(`data: ${message}\n\n`)).toBe(true);
  expect(await ask(url, '*/*')).toEqual({ type: 'application/json; charset=utf-8', text: message });
  const clients = [(await connect(url, 'modern')).client, (await connect(url, 'legacy')).client];
  for (const client of [...clients, (await connectEarlier(url)).client])
    expect(await client.callTool(CALL)).toMatchObject({ structuredContent: { n: 1 } });
});

test('a bug behind a stream that has begun is told of, and ends the stream with an error', async () => {
  const { url, bugs } = await startRoute({
    executeBatch: () => new Promise((_resolve, reject) => setTimeout(() => reject(new Error('secret')), 50)),
  });
  const { text } = await ask(url, 'application/json, text/event-stream');
  expect(text).toMatch(
    /data: \{"jsonrpc":"2.0","id":7,"error":\{"code":-32603,"message":"The service failed; .*\}\n\n$/,
  );
  expect(text).not.toContain('secret');
  expect(bugs).toEqual([new Error('secret')]);
});

test('a session that cannot be ended now is a 503, and any other trouble a bug', async () => {
  const end = async (error: Error) => {
    const { url, bugs } = await startRoute({ endSession: () => Promise.reject(error) });
    const { status } = await fetch(`${url}/mcp`, { method: 'DELETE', headers: { 'mcp-session-id': 's' } });
    return { status, bugs };
  };

  expect(await end(new Error('away'))).toEqual({ status: 503, bugs: [] });
  expect(await end(new Error('broken'))).toEqual({ status: 500, bugs: [new Error('broken')] });
});

test('a tool that cannot be called now is not listed', async () => {
  const echo: ToolDescription = {
    name: 'echo',
    description: '',
    effects: 'read',
    input_schema: { type: 'object' },
    output_schema: null,
    limits: { timeout_ms: 1000, retries: 3, concurrency: null, max_calls_per_session: null },
    available: true,
    unavailable_reason: null,
    source: 'builtin',
  };
  const { url } = await startRoute({ tools: [echo, { ...echo, name: 'gone', available: false }] });

  expect(await postModern(url, 'tools/list')).toMatchObject({
    messages: [{ result: { tools: [{ name: 'echo' }], resultType: 'complete' } }],
  });
});
