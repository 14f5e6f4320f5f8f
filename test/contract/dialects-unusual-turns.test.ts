import { expectProblem } from '@recourse/test-support/check-answer.ts';
import { askTurn, assistant, chatCall, postTurn } from '@recourse/test-support/dialect-client.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: RunningService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service.stop());

const ECHO = { text: 'hi' };
const BAD_REQUEST = { status: 400, title: 'Bad Request' } as const;

test.each([
  [
    'the text',
    { type: 'custom_tool_call', call_id: 'c', name: 'echo', input: 'print("hi")' },
    String.raw`{"text":"print(\"hi\")"}`,
  ],
  [
    'an object that does not name it',
    { type: 'custom_tool_call', call_id: 'c', name: 'echo', input: '{"a":1}' },
    '{"text":"{\\"a\\":1}"}',
  ],
  [
    'an object that names it',
    { type: 'custom_tool_call', call_id: 'c', name: 'echo', input: '{"text":"hi"}' },
    '{"text":"hi"}',
  ],
])('a custom tool call gives its free text to the one text that the tool needs: %s', async (_case, item, output) => {
  const { messages } = await askTurn(service, [item]);
  expect(messages).toEqual([{ type: 'custom_tool_call_output', call_id: 'c', output }]);
});

test('free text for a tool that needs more is no JSON', async () => {
  const call = { id: 'c', type: 'custom', custom: { name: 'write_file', input: 'notes.md' } };
  const { results } = await askTurn(service, [call]);
  expect(results[0]?.error?.code).toBe('invalid_arguments');
});

test.each([
  ['openai-chat', { role: 'assistant', content: 'Done.' }],
  ['openai-realtime', { type: 'response.done', response: { output: [{ type: 'message' }] } }],
  ['bedrock', { output: { message: { role: 'assistant', content: [{ text: 'Done.' }] } }, stopReason: 'end_turn' }],
  ['mistral', { role: 'assistant', content: 'Done.' }],
  ['cohere', { finishReason: 'COMPLETE', message: { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] } }],
  ['ollama', { message: { role: 'assistant', content: 'Done.' }, done: true }],
  ['ai-sdk', { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] }],
  ['openai-responses', { object: 'response', output: [{ type: 'message', role: 'assistant', content: [] }] }],
  ['anthropic', { role: 'assistant', content: 'Done.' }],
  ['gemini', { role: 'model', parts: [{ text: 'Done.' }] }],
  ['vapi', { message: { type: 'tool-calls', toolCallList: [] } }],
  ['langchain', { type: 'ai', content: 'Done.', tool_calls: [] }],
  ['text', { calls: [] }],
])('a final answer of %s asks for nothing and gets nothing', async (format, body) => {
  const answer = await askTurn(service, { ...body, format });
  expect(answer).toEqual({ request_id: answer.request_id, session_id: null, results: [], format, messages: [] });
});

test('more calls than an envelope may have are refused as natively', async () => {
  const calls = Array.from({ length: 1025 }, (_, place) => chatCall(`c${place}`, 'echo', ECHO));
  const detail = 'calls: Too big: expected array to have <=1024 items';
  expectProblem(await postTurn(service, calls), { ...BAD_REQUEST, code: 'invalid_envelope', detail });
  const most = await askTurn(service, calls.slice(1));
  expect(most.messages).toHaveLength(1024);
  expect(most.results.filter(({ error }) => error?.code === 'call_limit_exceeded')).toHaveLength(960);
});

test('problems stay problems, whatever was asked for', async () => {
  expectProblem(await postTurn(service, assistant(), '?raw=true', { 'idempotency-key': ' ' }), {
    ...BAD_REQUEST,
    code: 'invalid_idempotency_key',
    detail: 'Idempotency-Key must be 1 to 255 printable ASCII characters.',
  });
});
