import { expectProblem, expectResults } from '@recourse/test-support/check-answer.ts';
import { askTurn, assistant, bodyOf, chatCall, postTurn } from '@recourse/test-support/dialect-client.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: RunningService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service.stop());

const ECHO = { text: 'hi' };
const BAD_REQUEST = { status: 400, title: 'Bad Request' } as const;

test('an assistant message is answered with tool messages, and its session is named beside it', async () => {
  const message = assistant(chatCall('call_a', 'echo', ECHO), chatCall('call_b', 'nothing_like_it', {}));
  const answer = await askTurn(service, { ...message, session_id: 's_1' });
  expect(answer.session_id).toBe('s_1');
  expect(answer.format).toBe('openai-chat');
  expect(answer.results.map(({ id, outcome }) => [id, outcome])).toEqual([
    ['call_a', 'success'],
    ['call_b', 'retry'],
  ]);
  expect(answer.messages).toEqual([
    { role: 'tool', tool_call_id: 'call_a', content: '{"text":"hi"}' },
    {
      role: 'tool',
      tool_call_id: 'call_b',
      content: expect.stringMatching(/^ERROR: unknown_tool: Unknown tool: nothing_like_it\. /),
    },
  ]);
});

test.each([
  [
    'openai-responses',
    [{ type: 'function_call', call_id: 'c', name: 'echo', arguments: '{"text":"hi"}' }],
    [{ type: 'function_call_output', call_id: 'c', output: '{"text":"hi"}' }],
  ],
  [
    'anthropic',
    [{ type: 'tool_use', id: 'c', name: 'echo', input: ECHO }],
    [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: '{"text":"hi"}' }] }],
  ],
  [
    'gemini',
    { role: 'model', parts: [{ functionCall: { id: 'c', name: 'echo', args: ECHO } }] },
    [{ role: 'user', parts: [{ functionResponse: { id: 'c', name: 'echo', response: { output: ECHO } } }] }],
  ],
  [
    'langchain',
    { type: 'ai', content: '', tool_calls: [{ type: 'tool_call', id: 'c', name: 'echo', args: ECHO }] },
    [
      {
        type: 'tool',
        role: 'tool',
        content: '{"text":"hi"}',
        tool_call_id: 'c',
        name: 'echo',
        status: 'success',
      },
    ],
  ],
])(
  'a body of %s is told by its shape, and raw=true answers with nothing but its messages',
  async (format, body, messages) => {
    const answer = await askTurn(service, body);
    expect(answer.format).toBe(format);
    expect(answer.messages).toEqual(messages);
    expect(bodyOf(await postTurn(service, body, '?raw=true'))).toEqual(messages);
  },
);

test('Vapi gets the results that its webhook wants', async () => {
  const body = { message: { type: 'tool-calls', toolCallList: [{ id: 'c', name: 'echo', arguments: ECHO }] } };
  expect(bodyOf(await postTurn(service, { ...body, raw: true }))).toEqual({
    results: [{ toolCallId: 'c', name: 'echo', result: '{"text":"hi"}' }],
  });
});

test('text takes the native envelope and answers in observations', async () => {
  const calls = [{ name: 'echo', arguments: ECHO }, { name: 'nothing_like_it' }];
  const answer = await askTurn(service, { calls, format: 'text' });
  const observations = ['SUCCESS: {"text":"hi"}', expect.stringMatching(/^ERROR: unknown_tool: Unknown tool: /)];
  expect(answer.messages).toEqual(observations);
  expect(bodyOf(await postTurn(service, { calls }, '?format=text&raw=true'))).toEqual(observations);
});

test.each(['', '?format=native', '?format=native&raw=true'])(
  'the native envelope is answered natively with the query %j, byte for byte',
  async (query) => {
    const headers = { 'x-request-id': 'a-request-of-the-test' };
    const calls = [{ id: 'a', name: 'nothing.like', arguments: {} }, 42];
    const answer = await postTurn(service, { calls, format: 'native', session_id: 's_2' }, query, headers);
    expectResults(answer, 2);
    expect(answer.body).toMatch(
      /^\{"request_id":"a-request-of-the-test","session_id":"s_2","results":\[\{"index":0,.*\},\{"index":1,.*\}\]\}$/s,
    );
    expect(answer.body).not.toContain('"messages"');
  },
);

test('the query names session, order and deadline, and wins over the body', async () => {
  const list = [chatCall('a', 'nothing_like_it', {}), chatCall('b', 'echo', ECHO)];
  const answer = await askTurn(service, list, '?session_id=from_query&order=sequential&on_error=stop&deadline_ms=5000');
  expect(answer.session_id).toBe('from_query');
  expect(answer.results.map(({ error }) => error?.code)).toEqual(['unknown_tool', 'not_executed']);
  const both = await askTurn(service, { ...assistant(), session_id: 'from_body' }, '?session_id=from_query');
  expect(both.session_id).toBe('from_query');
  const text = await postTurn(service, { calls: [], format: 'native', raw: true }, '?format=text&raw=false');
  expect(bodyOf(text)).toMatchObject({ format: 'text', results: [], messages: [] });
  const native = await postTurn(service, { calls: [], session_id: 'from_body' }, '?session_id=from_query');
  expect(bodyOf(native)).toMatchObject({ session_id: 'from_query', results: [] });
});

test.each([
  ['?deadline_ms=0', 'deadline_ms: Too small: expected number to be >0'],
  ['?deadline_ms=soon', 'deadline_ms: Invalid input: expected number, received string'],
  ['?deadline_ms=', 'deadline_ms: Invalid input: expected number, received string'],
  ['?session_id=', 'session_id: Too small: expected string to have >=1 characters'],
  ['?session_id=a&session_id=b', 'session_id: Invalid input: expected string, received array'],
  ['?round_id=%0a', 'round_id: must be 1 to 64 printable ASCII characters'],
  ['?order=any', 'order: Invalid option: expected one of "parallel"|"sequential"'],
  ['?on_error=any', 'on_error: Invalid option: expected one of "continue"|"stop"'],
  ['?raw=1', 'raw: must be true or false'],
  ['?raw=true&raw=true', 'raw: must be true or false'],
])('the query %s is refused, for a provider as natively', async (query, detail) => {
  const expected = { ...BAD_REQUEST, code: 'invalid_envelope', detail };
  expectProblem(await postTurn(service, [chatCall('a', 'echo', ECHO)], query), expected);
  expectProblem(await postTurn(service, { calls: [] }, query), expected);
});

const FORMATS =
  'native, openai-chat, openai-responses, openai-realtime, anthropic, gemini, bedrock, mistral, cohere, ollama, ai-sdk, vapi, langchain, text';

test.each([
  ['?format=openapi-3.1', {}],
  ['?format=', {}],
  ['?format=__proto__', {}],
  ['?format=text&format=text', {}],
  ['', { format: 'MyOwnFormat' }],
  ['', { format: 7 }],
  ['', { format: ['native'] }],
])('an unknown format is refused with the list: query %j, body %j', async (query, members) => {
  const detail = `format must be one of ${FORMATS}.`;
  expectProblem(await postTurn(service, { calls: [], ...members }, query), {
    ...BAD_REQUEST,
    code: 'unknown_format',
    detail,
  });
});

const ACCEPTED =
  'Send an object with calls, or the message of a model as it is (openai-chat, openai-responses, openai-realtime, anthropic, gemini, bedrock, mistral, cohere, ollama, ai-sdk, vapi, langchain).';

test.each([
  [{}, 'calls: Invalid input: expected array, received undefined'],
  [[], 'Invalid input: expected object, received array'],
  [[{ type: 'text', text: 'no call' }], 'Invalid input: expected object, received array'],
  [{ messages: [] }, 'calls: Invalid input: expected array, received undefined'],
])('the body %j is of no known shape: what is accepted is said', async (body, wrong) => {
  const detail = `${wrong}. ${ACCEPTED}`;
  expectProblem(await postTurn(service, body), { ...BAD_REQUEST, code: 'invalid_envelope', detail });
});

test('a body that is not of the format it names is refused', async () => {
  const detail =
    'The body is not in the format anthropic. Send tool_use blocks, the assistant message that holds them, or the whole response.';
  const expected = { ...BAD_REQUEST, code: 'invalid_envelope', detail };
  expectProblem(await postTurn(service, { calls: [] }, '?format=anthropic'), expected);
  expectProblem(await postTurn(service, { role: 'user', content: [] }, '?format=anthropic'), expected);
  expectProblem(await postTurn(service, 'null', '?format=anthropic'), expected);
  const native = {
    ...BAD_REQUEST,
    code: 'invalid_envelope',
    detail: 'calls: Invalid input: expected array, received undefined',
  };
  expectProblem(await postTurn(service, { role: 'assistant' }, '?format=text'), native);
});

const TOOL_BLOCK = { toolUse: { toolUseId: 'tooluse_1', name: 'echo', input: ECHO } };
const SDK_PART = { type: 'tool-call', toolCallId: 'call_1', toolName: 'echo', input: ECHO };
const CAMEL = { role: 'assistant', content: '', toolCalls: [chatCall('a', 'echo', ECHO)] };
const DELTA = { object: 'chat.completion.chunk', choices: [{ delta: { tool_calls: [chatCall('a', 'echo', ECHO)] } }] };
const NOT_READ = 'in a place that is not read: stream chunks, a list of messages, or next to calls in another format.';
const IS_NOT = 'The body is not in the format';

test.each([
  [
    '?format=anthropic',
    { role: 'assistant', content: [TOOL_BLOCK] },
    `${IS_NOT} anthropic: it contains calls in the format bedrock. Send it with format=bedrock.`,
  ],
  [
    '?format=openai-chat',
    CAMEL,
    `${IS_NOT} openai-chat: it contains calls in the format mistral or cohere. Send it with format=mistral or format=cohere.`,
  ],
  [
    '?format=gemini',
    assistant(chatCall('a', 'echo', ECHO)),
    `${IS_NOT} gemini: it contains calls in the format openai-chat. Send it with format=openai-chat.`,
  ],
  [
    '?format=openai-chat',
    DELTA,
    `${IS_NOT} openai-chat: it contains calls in the format openai-chat ${NOT_READ} Send a tool_calls array, the assistant message that holds it, or the whole completion.`,
  ],
  [
    '?format=text',
    assistant(chatCall('a', 'echo', ECHO)),
    `${IS_NOT} text: it contains calls in the format openai-chat. Send it with format=openai-chat.`,
  ],
  [
    '',
    CAMEL,
    'The body contains calls that fit the formats mistral and cohere. Name one: format=mistral or format=cohere.',
  ],
  ['', [TOOL_BLOCK, SDK_PART], `The body contains calls in the format bedrock and ai-sdk ${NOT_READ} ${ACCEPTED}`],
])('calls are never swallowed: %s', async (query, body, detail) => {
  expectProblem(await postTurn(service, body, query), { ...BAD_REQUEST, code: 'invalid_envelope', detail });
});
