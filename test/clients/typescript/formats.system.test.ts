import type { MessageParam, ToolUnion } from '@anthropic-ai/sdk/resources/messages';
import type { Content, Tool as GeminiTool } from '@google/genai';
import { startService } from '@recourse/test-support/start-service.ts';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import type { ResponseInput, Tool as ResponsesTool } from 'openai/resources/responses/responses';
import { expect, onTestFinished, test } from 'vitest';
import { createRecourse, isRetryable, type Recourse } from '../../../clients/typescript/src/client.ts';
import { createWatchedFetch } from './lossy-lab.ts';

const start = async (): Promise<Recourse> => {
  const service = await startService();
  onTestFinished(service.stop);
  return createRecourse({ url: service.url });
};

const TEXT = { text: 'Hello.' };
const JSON_TEXT = '{"text":"Hello."}';
// Without Redis a line about the key may follow.
const HELLO = expect.stringMatching(/^\{"text":"Hello\."\}/);

test('an assistant message of OpenAI is answered with tool messages that the conversation takes', async () => {
  const conversation: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Say hello.' }];
  const message = {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'echo', arguments: JSON_TEXT } },
      { id: 'call_2', type: 'function', function: { name: 'no_such_tool', arguments: '{}' } },
    ],
  };
  const answer = await (await start()).execute(message, {
    format: 'openai-chat',
    sessionId: 'a/b c',
    deadlineMs: 9_000,
  });
  conversation.push(...answer.messages);
  expect(conversation.slice(1)).toEqual([
    { role: 'tool', tool_call_id: 'call_1', content: HELLO },
    { role: 'tool', tool_call_id: 'call_2', content: expect.stringMatching(/^ERROR: unknown_tool: /) },
  ]);
  expect(answer.results.map(isRetryable)).toEqual([false, true]);
});

test('a response of OpenAI is answered with the items of the next input', async () => {
  const input: ResponseInput = [];
  const call = { type: 'function_call', call_id: 'call_1', name: 'echo', arguments: JSON_TEXT };
  const { messages } = await (await start()).execute(
    { object: 'response', output: [call] },
    { format: 'openai-responses' },
  );
  input.push(...messages);
  expect(input).toEqual([{ type: 'function_call_output', call_id: 'call_1', output: HELLO }]);
});

test('a message of Anthropic is answered with one message of the user', async () => {
  const messages: MessageParam[] = [];
  const message = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'echo', input: TEXT }] };
  messages.push(...(await (await start()).execute(message, { format: 'anthropic' })).messages);
  expect(messages).toEqual([
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: HELLO }] },
  ]);
});

test('a content of Gemini is answered with one content', async () => {
  const contents: Content[] = [];
  const content = { role: 'model', parts: [{ functionCall: { name: 'echo', args: TEXT } }] };
  contents.push(...(await (await start()).execute(content, { format: 'gemini' })).messages);
  expect(contents).toEqual([
    { role: 'user', parts: [{ functionResponse: { name: 'echo', response: { output: expect.anything() } } }] },
  ]);
});

test('a message of LangChain is answered with tool messages and their status', async () => {
  const calls = [{ type: 'tool_call', id: 'a', name: 'echo', args: {} }];
  const { messages } = await (await start()).execute(
    { type: 'ai', content: '', tool_calls: calls },
    { format: 'langchain' },
  );
  expect(messages).toMatchObject([{ type: 'tool', tool_call_id: 'a', name: 'echo', status: 'error' }]);
});

test('a webhook of Vapi is given nothing but what it must answer', async () => {
  const message = { type: 'tool-calls', toolCallList: [{ id: 'a', name: 'echo', arguments: TEXT }] };
  const answer = await (await start()).execute({ message }, { format: 'vapi', raw: true });
  expect(answer.body).toEqual({ results: [{ toolCallId: 'a', name: 'echo', result: HELLO }] });
  expect(answer).toMatchObject({ attempts: 1, replayed: false });
});

test('calls are answered in plain observations where that is asked for', async () => {
  const calls = [{ name: 'echo', arguments: TEXT }, { name: 'no_such_tool' }];
  const { messages, results } = await (await start()).execute(calls, { format: 'text', order: 'sequential' });
  expect(messages).toEqual([
    expect.stringMatching(/^SUCCESS: \{"text":"Hello\."\}/),
    expect.stringMatching(/^ERROR: unknown_tool: /),
  ]);
  expect(results.map(({ success }) => success)).toEqual([true, false]);
});

test('a provider message belongs to its session, and is as strict on order as it is told to be', async () => {
  const session = (await start()).session('team a/7');
  const blocks = ['no_such_tool', 'echo'].map((name) => ({ type: 'tool_use', id: name, name, input: TEXT }));
  const message = { role: 'assistant', content: blocks };
  const { results } = await session.execute(message, { format: 'anthropic', order: 'sequential', onError: 'stop' });
  expect(results.map(({ error }) => error?.code)).toEqual(['unknown_tool', 'not_executed']);
  expect((await session.view()).calls.map(({ name }) => name)).toEqual(['no_such_tool', 'echo']);
});

test('a provider message that is sent again with its key is replayed in its own format', async () => {
  const recourse = await start();
  const message = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'echo', input: TEXT }] };
  const first = await recourse.execute(message, { format: 'anthropic' });
  const again = await recourse.execute(message, { format: 'anthropic', idempotencyKey: first.idempotencyKey });
  expect(again.replayed).toBe(true);
  expect(again.messages).toEqual(first.messages);
});

test('a message that is not of the format it is said to be is refused', async () => {
  const running = (await start()).execute({ role: 'assistant' }, { format: 'gemini' });
  await expect(running).rejects.toMatchObject({ status: 400, code: 'invalid_envelope', mayHaveRun: false });
});

test('the catalogue comes in the form that a request to the provider takes', async () => {
  const recourse = await start();
  const chat: ChatCompletionTool[] = await recourse.tools('openai-chat');
  const responses: ResponsesTool[] = await recourse.tools('openai-responses', { strict: true });
  const anthropic: ToolUnion[] = await recourse.tools('anthropic');
  const gemini: GeminiTool[] = await recourse.tools('gemini');
  const echo = { name: 'echo', description: expect.any(String) };
  const parameters = expect.objectContaining({ type: 'object' });
  expect(chat).toContainEqual({ type: 'function', function: { ...echo, parameters, strict: false } });
  expect(responses).toContainEqual({ type: 'function', ...echo, parameters, strict: true });
  expect(anthropic).toContainEqual({ ...echo, input_schema: parameters });
  expect(gemini[0]?.functionDeclarations).toContainEqual({ ...echo, parametersJsonSchema: parameters });
  expect((await recourse.tools('mcp')).map(({ name }) => name)).toContain('echo');
});

test('a catalogue that has not changed is not sent again', async () => {
  const service = await startService();
  onTestFinished(service.stop);
  const { fetch, statuses } = createWatchedFetch();
  const recourse = createRecourse({ url: service.url, fetch });
  const first = await recourse.tools('anthropic');
  expect(await recourse.tools('anthropic')).toEqual(first);
  expect(await recourse.tools('native')).not.toEqual(first);
  expect(statuses()).toEqual([200, 304, 200]);
});
