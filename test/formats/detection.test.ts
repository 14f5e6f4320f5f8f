import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DIALECTS, detectDialect } from '#src/formats/dialects.ts';
import { toBodyArbitrary } from '#test/formats/body-arbitrary.ts';
import { PUBLISHED, SCENARIOS, toPublishedTurn } from '#test/formats/scenarios.ts';

const CHAT_CALL = { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{}' } };
const TOOL_USE = { type: 'tool_use', id: 'toolu_1', name: 'echo', input: {} };
const ITEM = { type: 'function_call', call_id: 'call_1', name: 'echo', arguments: '{}' };
const PART = { functionCall: { name: 'echo', args: {} } };
const LANGCHAIN_CALL = { name: 'echo', args: {}, id: 'call_1', type: 'tool_call' };

const ROWS: readonly (readonly [string, unknown, string | null])[] = [
  ['a bare array of tool calls', [CHAT_CALL], 'openai-chat'],
  ['a tool call without a type', [{ id: 'call_1', function: { name: 'echo', arguments: '{}' } }], 'openai-chat'],
  ['a custom tool call', [{ id: 'call_1', type: 'custom', custom: { name: 'echo', input: '{}' } }], 'openai-chat'],
  ['an object with tool_calls', { tool_calls: [CHAT_CALL] }, 'openai-chat'],
  ['an assistant message', { role: 'assistant', content: null, tool_calls: [CHAT_CALL] }, 'openai-chat'],
  [
    'an assistant message dumped without tool calls',
    { role: 'assistant', content: '', tool_calls: null },
    'openai-chat',
  ],
  ['a completion', { choices: [{ message: { role: 'assistant', content: 'Hi' } }] }, 'openai-chat'],
  ['malformed tool calls', { tool_calls: [42, null] }, 'openai-chat'],
  ['a response', { object: 'response', output: [] }, 'openai-responses'],
  ['output items', [{ type: 'reasoning', summary: [] }, ITEM], 'openai-responses'],
  ['one output item', ITEM, 'openai-responses'],
  ['one custom item', { type: 'custom_tool_call', call_id: 'c', name: 'echo', input: '{}' }, 'openai-responses'],
  ['a Message', { type: 'message', role: 'assistant', content: [], stop_reason: 'end_turn' }, 'anthropic'],
  [
    'an assistant turn with tool_use',
    { role: 'assistant', content: [{ type: 'text', text: 'Hm' }, TOOL_USE] },
    'anthropic',
  ],
  ['a content array', [{ type: 'text', text: 'Hm' }, TOOL_USE], 'anthropic'],
  ['a GenerateContentResponse', { candidates: [{ content: { role: 'model', parts: [PART] } }] }, 'gemini'],
  ['a Content', { role: 'model', parts: [{ text: 'Hi' }] }, 'gemini'],
  ['a parts array', [{ text: 'Hm' }, PART], 'gemini'],
  ['a parts array of the REST world', [{ function_call: { name: 'echo', args: {} } }], 'gemini'],
  ['functionCalls of the SDK', { functionCalls: [{ name: 'echo', args: {} }] }, 'gemini'],
  ['a Vapi message', { message: { type: 'tool-calls', toolCallList: [] } }, 'vapi'],
  ['an AIMessage', { type: 'ai', content: '', tool_calls: [LANGCHAIN_CALL] }, 'langchain'],
  ['an AIMessage without a type', { content: '', tool_calls: [LANGCHAIN_CALL] }, 'langchain'],
  ['only invalid tool calls', { tool_calls: [], invalid_tool_calls: [{ id: 'call_1', args: '{' }] }, 'langchain'],
  ['a stored AIMessage', { type: 'ai', data: { tool_calls: [] } }, 'langchain'],
  ['a serialised AIMessage', { lc: 1, type: 'constructor', id: ['AIMessage'], kwargs: {} }, 'langchain'],
  [
    'an AIMessage over Anthropic blocks',
    { type: 'ai', content: [TOOL_USE], tool_calls: [LANGCHAIN_CALL] },
    'langchain',
  ],

  ['calls beside tool_calls are the native envelope', { calls: [], tool_calls: [CHAT_CALL] }, null],
  ['calls that are no array are the native envelope too', { calls: 1, candidates: [] }, null],
  ['an empty object', {}, null],
  ['an empty array', [], null],
  ['a text', 'tool_use', null],
  ['null', null, null],
  ['descriptions of tools', [{ type: 'function', function: { name: 'echo', parameters: {} } }], null],
  ['a plain assistant message', { role: 'assistant', content: 'Hi' }, null],
  ['an assistant message of text blocks', { role: 'assistant', content: [{ type: 'text', text: 'Hi' }] }, null],
  ["an output message, which looks like Anthropic's", { type: 'message', role: 'assistant', content: [] }, null],
  ["a user's message with tool_use", { role: 'user', content: [TOOL_USE] }, null],
  ['a function_call without call_id', { type: 'function_call', name: 'echo', arguments: '{}' }, null],
  ["OpenAI's old function_call", [{ role: 'assistant', function_call: { name: 'echo', arguments: '{}' } }], null],
  ['a stream chunk', { object: 'chat.completion.chunk', choices: [{ delta: {} }] }, null],
  ['names and args, whoever means them', [{ name: 'echo', args: {} }], null],
  ['another message of Vapi', { message: { type: 'status-update' } }, null],
];

test.for(ROWS)('%s', ([, body, format]) => {
  expect(detectDialect(body)?.format ?? null).toBe(format);
});

const FORMATS = ['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'vapi', 'langchain'] as const;

test.for(FORMATS)('a published turn of %s is nobody else’s, and native once it has calls', (format) => {
  for (const name of ['one-call', 'parallel-one-fails'] as const) {
    const body = toPublishedTurn(format, name);
    const detecting = [...DIALECTS.values()]
      .filter((dialect) => dialect.detects(body))
      .map((dialect) => dialect.format);
    expect(detecting).toEqual([format]);
    expect(detectDialect(Array.isArray(body) ? {} : { ...Object(body), calls: [] })).toBe(null);
  }
  expect(Object.keys(PUBLISHED)).toContain(format);
  expect(Object.keys(SCENARIOS)).toContain('one-call');
});

test('no body is detected by two dialects, and what detects a body reads it', () => {
  let seen = 0;
  fc.assert(
    fc.property(toBodyArbitrary(), (body) => {
      const detecting = [...DIALECTS.values()].filter((dialect) => dialect.detects(body));
      expect(detecting.length).toBeLessThanOrEqual(1);
      expect(detectDialect(body)).toBe(detecting[0] ?? null);
      if (detecting[0] === undefined) return;
      seen += 1;
      expect(detecting[0].parse(body)).not.toBe(null);
    }),
    { numRuns: 3000 },
  );
  expect(seen).toBeGreaterThan(200);
});
