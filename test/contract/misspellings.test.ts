import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const CALL = { id: '1', name: 'echo', arguments: { text: 'a' } };

const send = async (body: unknown, query = '', headers: Readonly<Record<string, string>> = {}) => {
  const answer = await fetch(`${service.url}/tool-calls${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) };
};

const warned = (name: string, meant: string) => [
  { code: 'unknown_member', message: `${name} is unknown and was ignored. Did you mean ${meant}?` },
];

test.each([
  [{ sessionId: 's1' }, '', warned("'sessionId'", "'session_id'")],
  [{ sesion_id: 's1' }, '', warned("'sesion_id'", "'session_id'")],
  [{ session: 's1' }, '', warned("'session'", "'session_id'")],
  [{ deadlineMs: 5 }, '', warned("'deadlineMs'", "'deadline_ms'")],
  [{ timeout: 5 }, '', warned("'timeout'", "'deadline_ms'")],
  [{ onError: 'stop' }, '', warned("'onError'", "'on_error'")],
  [{}, '?sessionId=s1', warned("'sessionId' of the query", "'session_id'")],
  [{ caller: 'agent', call_id: 'c', deadline_ms: 9000, timeout: 9 }, '', undefined],
  [{ metadata: { user: 'x' }, user: 'y', model: 'z', trace_id: 't' }, '?utm_source=a', undefined],
])(
  'an envelope with %j and the query %j runs, and the answer names what was meant',
  async (members, query, warnings) => {
    const { status, body } = await send({ ...members, calls: [CALL] }, query);
    expect([status, body.results[0].success, body.session_id]).toEqual([200, true, null]);
    expect(body.warnings).toEqual(warnings);
  },
);

test('the header Idempotency-Key is told of under its other names, and not where it is there', async () => {
  const other = await send({ calls: [] }, '', { 'x-idempotency-key': 'a' });
  expect(other.body.warnings).toEqual(warned('The header X-Idempotency-Key', 'Idempotency-Key'));
  const both = await send({ calls: [] }, '', { 'x-idempotency-key': 'a', 'idempotency-key': 'a' });
  expect(both.body.warnings).toBeUndefined();
});

const CHAT = {
  role: 'assistant',
  tool_calls: [{ id: '1', type: 'function', function: { name: 'echo', arguments: '{"text":"a"}' } }],
};

test('a message of a provider is looked at for our own names alone, and raw answers have a header', async () => {
  const told = await send({ ...CHAT, sessionId: 's', sesion: 's', formats: 1 });
  expect(told.body.warnings).toEqual(warned("'sessionId'", "'session_id'"));
  expect(told.body.messages).toHaveLength(1);
  const raw = await send(CHAT, '?raw=true&sessionID=ü');
  expect(raw.body).toEqual([{ role: 'tool', tool_call_id: '1', content: '{"text":"a"}' }]);
  expect(raw.headers.get('recourse-warning')).toBe(
    "unknown_member: 'sessionID' of the query is unknown and was ignored. Did you mean 'session_id'?",
  );
});

test('members that are many and long cost little and are left alone', async () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`session_id${at}`.padEnd(60, 'x'), 1]));
  const { status, body } = await send({ ...many, calls: [CALL] });
  expect([status, body.warnings]).toEqual([200, undefined]);
});

const ACCEPTED =
  'Send an object with calls, or the message of a model as it is (openai-chat, openai-responses, openai-realtime, anthropic, gemini, bedrock, mistral, cohere, ollama, ai-sdk, vapi, langchain).';
const NO_LIST = 'calls: Invalid input: expected array, received';

test.each([
  [{ call: [CALL] }, `${NO_LIST} undefined. Did you mean 'calls' instead of 'call'? ${ACCEPTED}`],
  [CALL, `${NO_LIST} undefined. The body is a single call: put it into a list, {"calls": [{…}]}. ${ACCEPTED}`],
  [{ calls: CALL }, `${NO_LIST} object. Write a list: {"calls": [{…}]}`],
  [
    { tool_calls: [CALL] },
    `tool_calls: contains calls in the native format. Rename the list to calls: {"calls": [{…}]}`,
  ],
])('the body %j is refused with what was meant', async (sent, detail) => {
  const { status, body } = await send(sent);
  expect([status, body.code, body.detail]).toEqual([400, 'invalid_envelope', detail]);
});

const SEND = 'Send each call as an object such as {"id": "call_1", "name": "echo", "arguments": {}}.';

test.each([
  [{ name: 'list_files', args: {} }, 'invalid_call', `The call has no 'arguments' but 'args'. ${SEND}`],
  [{ name: 'list_files', arguements: {} }, 'invalid_call', `The call has no 'arguments' but 'arguements'. ${SEND}`],
  [{ tool: 'echo', arguments: {} }, 'invalid_call', `The call has no 'name' but 'tool'. ${SEND}`],
  [{ function: { name: 'echo' } }, 'invalid_call', `The call has no 'name' but 'function'. ${SEND}`],
  [
    { name: 'echo', arguments: JSON.stringify('{"text":"a"}') },
    'invalid_arguments',
    `Arguments for 'echo' are encoded as JSON twice. Send one JSON object, for example {"text": "text"}.`,
  ],
])('the call %j is not run, and told what was meant', async (call, code, message) => {
  const { body } = await send({ calls: [call] });
  const [result] = body.results;
  expect([result.executed, result.error.code, result.message]).toEqual(['no', code, message]);
});

test('a call without arguments and with other members runs as before', async () => {
  const { body } = await send({
    calls: [{ name: 'list_files', metadata: { a: 1 }, agent: 'x', documents: [], segments: [] }],
  });
  expect(body.results[0].success).toBe(true);
});

test.each([
  ['/tool-calls?format=openai', 'Did you mean openai-chat or openai-responses or openai-realtime?'],
  ['/tool-calls?format=anthropc', 'Did you mean anthropic?'],
  ['/tool-calls?format=claude', 'Did you mean anthropic?'],
])('POST %s says which format was meant', async (path, question) => {
  const answer = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const { status, detail } = JSON.parse(await answer.text());
  expect([status, detail.endsWith(question)]).toEqual([400, true]);
});

test.each([
  ['/health', 'Did you mean GET /live or GET /ready? '],
  ['/healthz', 'Did you mean GET /live or GET /ready? '],
  ['/readyz', 'Did you mean GET /ready? '],
  ['/tool_calls', 'Did you mean POST /tool-calls? '],
  ['/v1/tool-calls', 'Did you mean POST /tool-calls? '],
  ['/toolcalls?a=/tools', 'Did you mean POST /tool-calls? '],
  ['/swagger', 'Did you mean GET /docs? '],
  ['/sesions/s1', 'Did you mean GET /sessions/{id}? '],
  ['/favicon.ico', ''],
  [`/${'tools'.repeat(100)}`, ''],
])('GET %s is not found, and says what may have been meant', async (path, question) => {
  const answer = await fetch(`${service.url}${path}`);
  const { detail } = JSON.parse(await answer.text());
  expect([answer.status, detail]).toEqual([
    404,
    `There is no resource at this path. ${question}GET /openapi.json lists all paths.`,
  ]);
});

test('a parameter of the catalogue that is misspelled is refused; another one is not', async () => {
  const wrong = await fetch(`${service.url}/tools?fromat=anthropic`);
  expect([wrong.status, JSON.parse(await wrong.text()).detail]).toEqual([
    400,
    "'fromat' is unknown. Did you mean 'format'?",
  ]);
  expect((await fetch(`${service.url}/tools?utm_source=x`)).status).toBe(200);
});

test('GET / sends a browser to the console and gives others the links', async () => {
  const page = await fetch(service.url, { redirect: 'manual', headers: { accept: 'text/html,*/*;q=0.8' } });
  expect([page.status, page.headers.get('location')]).toEqual([302, 'console']);
  const index = JSON.parse(await (await fetch(service.url)).text());
  expect([index.service, index.links.tool_calls, index.links.console]).toEqual(['recourse', '/tool-calls', '/console']);
});

test('without pages, and with keys, GET / names what is served and asks for no key', async () => {
  const closed = await startService({
    CONSOLE: 'false',
    DOCS: 'false',
    MCP_SERVER: 'false',
    API_KEYS: `a=${'0'.repeat(64)}`,
  });
  const answer = await fetch(closed.url, { headers: { accept: 'text/html' } });
  const { links } = JSON.parse(await answer.text());
  const missing = await fetch(`${closed.url}/health`);
  const { detail } = JSON.parse(await missing.text());
  await closed.stop();
  expect([answer.status, Object.keys(links)]).toEqual([200, ['tool_calls', 'tools', 'live', 'ready', 'metrics']]);
  expect(detail).toBe('There is no resource at this path. Did you mean GET /live or GET /ready?');
});
