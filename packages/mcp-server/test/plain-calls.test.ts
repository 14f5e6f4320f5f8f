import { connect, MODERN_META, post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

const WHERE = defineTool({
  name: 'where',
  description: 'Says where.',
  effects: 'read',
  input: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, count: { type: 'integer' } },
  },
  run: ({ region }) => ({ region }),
});

let service: RunningService;
beforeAll(async () => {
  service = await startService({}, [WHERE]);
});
afterAll(() => service.stop());

test("the SDK's client repeats arguments in headers, and they are found to say the same", async () => {
  const { client } = await connect(service.url, 'modern');
  await client.listTools();
  for (const region of ['eu', 'zürich', ' ', ''])
    expect(await client.callTool({ name: 'where', arguments: { region } })).toMatchObject({
      structuredContent: { region },
    });
});

test.each([
  [{}, "Mcp-Param-Region is missing for the argument 'region'"],
  [{ 'mcp-param-region': 'us' }, "Mcp-Param-Region differs from the argument 'region'"],
  [{ 'mcp-param-region': '=?base64?ZXU?=' }, 'Mcp-Param-Region is not valid base64 of UTF-8'],
])('a call whose headers say something else than its arguments does not run: %j', async (headers, mismatch) => {
  const call = { name: 'where', arguments: { region: 'eu' } };
  const refused = {
    status: 400,
    messages: [
      { id: 1, error: { code: -32020, message: `The headers and the body disagree: ${mismatch}. Nothing has run.` } },
    ],
  };
  expect(await postModern(service.url, 'tools/call', call, headers)).toMatchObject(refused);
  // Also where the SDK would answer it.
  const watched = { ...call, _meta: { progressToken: 1 } };
  expect(await postModern(service.url, 'tools/call', watched, headers)).toMatchObject(refused);
  // And where the arguments are the JSON text of an object.
  const told = { ...call, arguments: '{"region":"eu"}' };
  expect(await postModern(service.url, 'tools/call', told, headers)).toMatchObject(refused);
  // Earlier revisions know no such headers, and what has no value needs none.
  const earlier = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
  expect(await post(service.url, earlier, headers)).toMatchObject({ status: 200 });
  expect(await postModern(service.url, 'tools/call', { name: 'where', arguments: { count: 1 } })).toMatchObject({
    status: 200,
  });
});

test('arguments as a JSON text run under headers that say the same; what is no JSON is for the executor to judge', async () => {
  const headers = { 'mcp-param-region': 'eu' };
  const call = (text: string) => postModern(service.url, 'tools/call', { name: 'where', arguments: text }, headers);
  expect(await call('{"region":"eu"}')).toMatchObject({
    status: 200,
    messages: [{ result: { structuredContent: { region: 'eu' } } }],
  });
  const [answer] = (await call('{"region":')).messages;
  expect(answer).toMatchObject({
    result: { isError: true, _meta: { 'recourse/result': { code: 'invalid_arguments' } } },
  });
});

const ECHO = { name: 'echo', arguments: { text: 'x' } };
const modern = (more: Readonly<Record<string, unknown>> = {}, meta: Readonly<Record<string, unknown>> = {}) => ({
  jsonrpc: '2.0',
  id: 9,
  method: 'tools/call',
  params: { ...ECHO, ...more, _meta: { ...MODERN_META, ...meta } },
});
const NAMED = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' };
const earlier = { jsonrpc: '2.0', id: 9, method: 'tools/call', params: ECHO };

test.each([
  ['another name in the header', modern(), { ...NAMED, 'mcp-name': 'read_file' }, 400, -32020],
  ['no name in the headers', modern(), { ...NAMED, 'mcp-name': '' }, 400, -32020],
  ['no method in the headers', modern(), { 'mcp-protocol-version': '2026-07-28', 'mcp-name': 'echo' }, 400, -32020],
  ['no revision in the headers', modern(), { 'mcp-method': 'tools/call', 'mcp-name': 'echo' }, 400, -32020],
  ['no capabilities', modern({}, { 'io.modelcontextprotocol/clientCapabilities': undefined }), NAMED, 400, -32602],
  ['capabilities of no form', modern({}, { 'io.modelcontextprotocol/clientCapabilities': 7 }), NAMED, 400, -32602],
  [
    'a client without a version',
    modern({}, { 'io.modelcontextprotocol/clientInfo': { name: 'a' } }),
    NAMED,
    400,
    -32602,
  ],
  ['the revision in the header alone', earlier, NAMED, 400, -32602],
  ['a revision that nobody knows', earlier, { 'mcp-protocol-version': '1999-01-01' }, 400, -32000],
  ['events alone', earlier, { accept: 'text/event-stream' }, 406, -32000],
  ['JSON alone', earlier, { accept: 'application/json' }, 406, -32000],
  ['a name that is no text', { ...earlier, params: { name: 7 } }, {}, 200, -32602],
  ['a bad session', { ...earlier, params: { ...ECHO, _meta: { 'recourse/session_id': 7 } } }, {}, 200, -32602],
] as const)('a call with %s is refused under its id', async (_what, body, headers, status, code) => {
  expect(await post(service.url, body, headers)).toMatchObject({ status, messages: [{ id: 9, error: { code } }] });
});

test.each([
  ['of one revision', earlier, {}],
  ['of the other', modern(), NAMED],
  ['with an encoded name', modern(), { ...NAMED, 'mcp-name': '=?base64?ZWNobw==?=' }],
  ['that asks for progress', modern({}, { progressToken: 1 }), NAMED],
  [
    'with what a client can do',
    modern({}, { 'io.modelcontextprotocol/clientCapabilities': { roots: { listChanged: true }, sampling: {} } }),
    NAMED,
  ],
  ['with a log level', modern({}, { 'io.modelcontextprotocol/logLevel': 'debug' }), NAMED],
] as const)('a call %s is answered, by whichever part of the door', async (_what, body, headers) => {
  const { status, messages } = await post(service.url, body, headers);
  expect({ status, messages }).toMatchObject({
    status: 200,
    messages: [{ jsonrpc: '2.0', id: 9, result: { content: [{ text: '{"text":"x"}' }], isError: false } }],
  });
});

test.each([
  [{ ...earlier, id: 1.5 }, {}, null],
  [{ ...earlier, id: 2 ** 53 }, {}, null],
  [{ ...earlier, id: 'a' }, { 'mcp-protocol-version': '1999-01-01' }, 'a'],
])('what the SDK refuses has the data of a problem, and an id that can be told (%j)', async (body, headers, id) => {
  const { messages } = await post(service.url, body, headers);
  const data = { code: 'invalid_message', request_id: expect.stringMatching(/^[0-9A-Z]{26}$/) };
  expect(messages).toMatchObject([{ ...(id === null ? {} : { id }), error: { data } }]);
  expect(messages.map((message) => 'id' in message)).toEqual([id !== null]);
});

test.each([
  ['{', 400, -32700],
  ['', 400, -32700],
  ['[]', 400, -32600],
])('a body that is no message (%j) is an error of JSON-RPC', async (body, status, code) => {
  const answer = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(await answer.json()).toMatchObject({ jsonrpc: '2.0', error: { code } });
});
