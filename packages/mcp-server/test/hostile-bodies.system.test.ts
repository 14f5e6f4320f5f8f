import { queryObjects } from 'node:v8';
import { Server } from '@modelcontextprotocol/server';
import { MODERN_META, post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

let service: RunningService;
let url: string;
beforeAll(async () => {
  service = await startService({ LOG_LEVEL: 'fatal' });
  url = service.url;
});
afterAll(() => service.stop());

/** Posts a body as it is. Rejects where the request is left open. */
const send = async (to: string, body: string, headers: Readonly<Record<string, string>> = {}) => {
  const answer = await fetch(`${to}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    signal: AbortSignal.timeout(timeLimit(15_000)),
  });
  return { status: answer.status, text: await answer.text() };
};

const VERSIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '9999-01-01', '', 'ä'];
const METHODS = [
  ...['initialize', 'ping', 'tools/list', 'tools/call', 'server/discover', 'subscriptions/listen', 'resources/read'],
  ...['notifications/cancelled', 'notifications/progress', 'logging/setLevel', 'tasks/get', '__proto__', ''],
];
const NAMES = ['echo', 'read_file', 'list_files', 'constructor', '', 'no such tool'];

const anything = fc.jsonValue({ maxDepth: 3 });
const maybe = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: value, weight: 4 }, anything);
const meta = fc.record(
  {
    'io.modelcontextprotocol/protocolVersion': maybe(fc.constantFrom(...VERSIONS)),
    'io.modelcontextprotocol/clientCapabilities': maybe(fc.constant({})),
    'io.modelcontextprotocol/clientInfo': anything,
    progressToken: maybe(fc.oneof(fc.string(), fc.integer())),
    'recourse/session_id': maybe(fc.string()),
    'recourse/round_id': maybe(fc.string()),
    'recourse/idempotency_key': maybe(fc.string()),
    'recourse/call_id': maybe(fc.string()),
  },
  { requiredKeys: [] },
);
const params = fc.record(
  {
    name: maybe(fc.constantFrom(...NAMES)),
    arguments: maybe(fc.record({ text: anything, path: anything }, { requiredKeys: [] })),
    _meta: maybe(meta),
    protocolVersion: maybe(fc.constantFrom(...VERSIONS)),
    capabilities: maybe(fc.constant({})),
    clientInfo: maybe(fc.constant({ name: 'fuzz', version: '1' })),
    requestId: maybe(fc.integer({ min: 0, max: 3 })),
    task: anything,
    inputResponses: anything,
    requestState: anything,
    notifications: maybe(fc.constant({ toolsListChanged: true })),
  },
  { requiredKeys: [] },
);
const message = fc.record(
  {
    jsonrpc: maybe(fc.constant('2.0')),
    id: maybe(fc.integer({ min: 0, max: 3 })),
    method: maybe(fc.constantFrom(...METHODS)),
    params: maybe(params),
    result: anything,
    error: anything,
  },
  { requiredKeys: ['jsonrpc'] },
);
const body = fc.oneof(message, fc.array(message, { maxLength: 4 }), anything);
const headers = fc.record(
  {
    'mcp-protocol-version': fc.constantFrom('2026-07-28', '2025-11-25', '2025-03-26', 'x'),
    'mcp-method': fc.constantFrom('tools/call', 'tools/list', '=?base64?!?='),
    'mcp-name': fc.constantFrom('echo', '=?base64?ZWNobw==?=', '=?base64?!?='),
    'mcp-session-id': fc.constantFrom('a', 'b', 'c d'),
    accept: fc.constantFrom('application/json', 'application/json, text/event-stream', '*/*'),
  },
  { requiredKeys: [] },
);

test('whatever is sent is answered to its end, and never with a 5xx', async () => {
  await fc.assert(
    fc.asyncProperty(body, headers, async (sent, sentHeaders) => {
      const { status } = await send(url, JSON.stringify(sent), sentHeaders);
      expect(status).toBeLessThan(500);
    }),
    { numRuns: 1000 },
  );
  expect(await postModern(url, 'tools/list')).toMatchObject({ status: 200 });
});

test.each([
  ['no JSON', '{', 400],
  ['nothing', '', 400],
  ['null', 'null', 400],
  ['a text', '"tools/list"', 400],
  ['no messages', '[]', 400],
  ['101 messages', JSON.stringify(Array.from({ length: 101 }, () => ({ jsonrpc: '2.0', method: 'ping', id: 1 }))), 400],
  ['invalid UTF-16', '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', 200],
  ['200 000 brackets', '['.repeat(200_000) + ']'.repeat(200_000), 400],
  [
    '200 000 levels of params',
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(200_000)}1${'}'.repeat(200_001)}`,
    413,
  ],
  [
    '100 000 levels of params',
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_001)}`,
    400,
  ],
  ['an id of 100 000 characters', `{"jsonrpc":"2.0","id":"${'i'.repeat(100_000)}","method":"ping"}`, 200],
])('%s is answered', async (_what, text, status) => {
  expect((await send(url, text)).status).toBe(status);
});

test('only JSON is taken, and no more of it than anywhere', async () => {
  const small = await startService({ LOG_LEVEL: 'fatal', MAX_BODY_BYTES: '2000' });
  onTestFinished(small.stop);

  expect((await send(small.url, '{}', { 'content-type': 'text/plain' })).status).toBe(415);
  expect((await send(small.url, '{}', { 'content-type': 'application/json; charset=utf-16' })).status).toBe(415);
  expect((await send(small.url, `"${'x'.repeat(2000)}"`)).status).toBe(413);
});

test(
  'ten thousand sessions that are opened and left leave nothing behind',
  async () => {
    const open = {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    };
    const ids = new Set<string | null>();
    for (let n = 0; n < 100; n += 1) {
      const answers = await Promise.all(Array.from({ length: 100 }, () => post(url, open)));
      for (const { headers: given } of answers) ids.add(given.get('mcp-session-id'));
    }

    expect(ids.size).toBe(10_000);
    await expect.poll(() => queryObjects(Server, { format: 'count' }), { timeout: timeLimit(15_000) }).toBeLessThan(20);
  },
  timeLimit(120_000),
);

test('neither do calls, however they ended', async () => {
  const call = (n: number) => ({
    name: n % 2 === 0 ? 'echo' : 'no such tool',
    arguments: { text: 'x' },
    _meta: { ...MODERN_META, 'recourse/session_id': `s ${n}` },
  });
  for (let n = 0; n < 200; n += 1) {
    await postModern(url, 'tools/call', call(n));
    await post(
      url,
      { jsonrpc: '2.0', id: n, method: 'tools/call', params: { name: 'echo' } },
      { 'mcp-session-id': `s${n}` },
    );
  }

  await expect.poll(() => queryObjects(Server, { format: 'count' }), { timeout: timeLimit(15_000) }).toBeLessThan(20);
});
