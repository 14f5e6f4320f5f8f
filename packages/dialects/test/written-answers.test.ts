import { CHAT_CALL, ITEM, PART } from '@recourse/test-support/formats/provider-calls.ts';
import { succeeded } from '@recourse/test-support/formats/results.ts';
import { expect, test } from 'vitest';
import { DIALECTS } from '#src/dialects.ts';

test('a custom tool call of responses is answered with its own kind of output', () => {
  const body = [{ type: 'custom_tool_call', call_id: 'call_2', name: 'echo', input: '{"text":"a"}' }, ITEM];
  expect(
    DIALECTS.get('openai-responses')
      ?.parse(body)
      ?.toMessages([succeeded('1'), succeeded('2')]),
  ).toEqual([
    { type: 'custom_tool_call_output', call_id: 'call_2', output: '1' },
    { type: 'function_call_output', call_id: 'call_1', output: '2' },
  ]);
});

test('Gemini is answered in the spelling it was asked in, and values go as they are', () => {
  const body = [{ function_call: { id: 'a', name: 'echo', args: {} } }, PART, PART, PART];
  const results = [
    succeeded({ count: 3 }),
    succeeded(3),
    succeeded({ count: 3 }, { message: 'Three.' }),
    succeeded([], { empty: true }),
  ];
  expect(DIALECTS.get('gemini')?.parse(body)?.toMessages(results)).toEqual([
    {
      role: 'user',
      parts: [
        { function_response: { id: 'a', name: 'echo', response: { output: { count: 3 } } } },
        { functionResponse: { name: 'echo', response: { output: 3 } } },
        { functionResponse: { name: 'echo', response: { output: 'Three.\n{"count":3}' } } },
        { functionResponse: { name: 'echo', response: { output: 'Nothing was found.' } } },
      ],
    },
  ]);
});

test('Vapi is told one line, however long a run of blanks is', () => {
  const body = { message: { type: 'tool-calls', toolCallList: [CHAT_CALL] } };
  const text = `one\r\n  two\u2028\n\nthree ${' '.repeat(200_000)}four`;
  expect(
    DIALECTS.get('vapi')
      ?.parse(body)
      ?.toMessages([succeeded(text)]),
  ).toEqual([{ toolCallId: 'call_1', name: 'echo', result: `one two three ${' '.repeat(200_000)}four` }]);
});

test('what is sent raw is the messages, and for Vapi what its webhook must return', () => {
  const raws = [...DIALECTS.values()].map((dialect) => [dialect.format, dialect.toRaw(['x'])]);
  expect(Object.fromEntries(raws)).toEqual({
    'openai-chat': ['x'],
    'openai-responses': ['x'],
    'openai-realtime': ['x'],
    anthropic: ['x'],
    gemini: ['x'],
    bedrock: ['x'],
    mistral: ['x'],
    cohere: ['x'],
    ollama: ['x'],
    'ai-sdk': ['x'],
    vapi: { results: ['x'] },
    langchain: ['x'],
    text: ['x'],
  });
});
