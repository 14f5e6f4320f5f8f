import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { connect, detailOf, post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

const API_KEYS = [
  toKeyEntry('acme', 'the-key-of-acme-0123456789'),
  toKeyEntry('acme', 'the-echo-key-0123456789', 'tools=echo'),
  toKeyEntry('acme', 'the-call-key-0123456789', 'may=call'),
  toKeyEntry('other', 'the-key-of-other-0123456789'),
].join(',');
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const ACME = bearer('the-key-of-acme-0123456789');

const start = async (environment: Readonly<Record<string, string>> = {}): Promise<string> => {
  const service = await startService({ API_KEYS, ...environment });
  onTestFinished(service.stop);
  return service.url;
};

test('a key sees and calls the tools it may use, and no other', async () => {
  const { client } = await connect(await start(), 'legacy', bearer('the-echo-key-0123456789'));

  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo']);
  expect(await client.callTool({ name: 'echo', arguments: { text: 'x' } })).toMatchObject({ isError: false });
  const refused = await client.callTool({ name: 'read_file', arguments: { path: 'notes.md' } });
  expect(refused).toMatchObject({ isError: true });
  expect(detailOf(refused)).toMatchObject({ outcome: 'refused', executed: 'no', code: 'not_authorized' });
});

test('without a key, and with one that nobody has, there is no door', async () => {
  const url = await start();
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

  expect(await post(url, list)).toMatchObject({
    status: 401,
    messages: [{ error: { code: -32000, data: { code: 'unauthorized' } } }],
  });
  expect(await post(url, list, bearer('nobody'))).toMatchObject({ status: 401 });
  expect((await fetch(`${url}/mcp`, { method: 'DELETE', headers: { 'mcp-session-id': 's' } })).status).toBe(401);
});

test('a page of another origin is refused, as everywhere', async () => {
  const url = await start();
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

  expect(await post(url, list, { ...ACME, origin: 'https://evil.example' })).toMatchObject({
    status: 403,
    messages: [{ error: { data: { code: 'forbidden_origin' } } }],
  });
});

test("the same session id is another tenant's other session", async () => {
  const url = await start();
  const fail = async (headers: Readonly<Record<string, string>>, n: number): Promise<unknown> => {
    const params = { name: 'read_file', arguments: { path: `no such file ${n}` } };
    const _meta = { 'recourse/session_id': 'shared' };
    const { messages } = await postModern(url, 'tools/call', { ...params, _meta }, headers);
    const result: unknown = messages[0]?.['result'];
    return typeof result === 'object' && result !== null ? detailOf(result)['code'] : messages;
  };

  for (let n = 0; n < 4; n += 1) expect(await fail(ACME, n)).toBe('tool_exception');
  expect(await fail(ACME, 4)).toBe('retry_budget_exhausted');
  expect(await fail(bearer('the-key-of-other-0123456789'), 5)).toBe('tool_exception');
});

test.each(['the-echo-key-0123456789', 'the-call-key-0123456789'])(
  'a key that may not end sessions is told so as the transport has it (%s)',
  async (key) => {
    const url = await start();
    const { transport } = await connect(url, 'legacy', bearer(key));

    await transport.terminateSession();
    const ended = await fetch(`${url}/mcp`, { method: 'DELETE', headers: { ...bearer(key), 'mcp-session-id': 's' } });
    expect(ended.status).toBe(405);
    expect(ended.headers.get('allow')).toBe('POST');
    const may = await fetch(`${url}/mcp`, { method: 'DELETE', headers: { ...ACME, 'mcp-session-id': 's' } });
    expect(may.status).toBe(204);
  },
);
