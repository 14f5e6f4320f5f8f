import { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { toBodyArbitrary } from '@recourse/test-support/formats/body-arbitrary.ts';
import { PUBLISHED, SCENARIOS, toPublishedTurn } from '@recourse/test-support/formats/scenarios.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { detectDialect } from '#src/dialects.ts';

const CHAT_CALL = { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{}' } };
const TOOL_USE = { type: 'tool_use', id: 'toolu_1', name: 'echo', input: {} };
const ITEM = { type: 'function_call', call_id: 'call_1', name: 'echo', arguments: '{}' };
const PART = { functionCall: { name: 'echo', args: {} } };
const TOOL_BLOCK = { toolUse: { toolUseId: 'tooluse_1', name: 'echo', input: {} } };
const OLLAMA_CALL = { function: { name: 'echo', arguments: {} } };
const SDK_PART = { type: 'tool-call', toolCallId: 'call_1', toolName: 'echo', input: {} };
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

  [
    'the function_call of old',
    { role: 'assistant', content: null, function_call: { name: 'echo', arguments: '{}' } },
    'openai-chat',
  ],
  ['the end of a response of the Realtime API', { type: 'response.done', response: { output: [] } }, 'openai-realtime'],
  ['a response of the Realtime API', { object: 'realtime.response', output: [] }, 'openai-realtime'],
  ['items of the Realtime API', [{ ...ITEM, object: 'realtime.item' }], 'openai-realtime'],
  [
    'the responses of a stream of Gemini',
    [{ candidates: [] }, { candidates: [{ content: { parts: [PART] } }] }],
    'gemini',
  ],
  [
    'what Converse answers',
    { output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } }, stopReason: 'end_turn' },
    'bedrock',
  ],
  ['a message of Bedrock', { role: 'assistant', content: [{ text: 'Hm' }, TOOL_BLOCK] }, 'bedrock'],
  ['blocks of Bedrock', [{ text: 'Hm' }, TOOL_BLOCK], 'bedrock'],
  ["a message of Mistral's client", { role: 'assistant', toolCalls: [CHAT_CALL], prefix: false }, 'mistral'],
  [
    "a message of Mistral's client, by the index of its calls",
    { role: 'assistant', toolCalls: [{ ...CHAT_CALL, index: 0 }] },
    'mistral',
  ],
  ["a message of Cohere's client", { role: 'assistant', toolCalls: [CHAT_CALL], toolPlan: 'Hm' }, 'cohere'],
  ['a message of Cohere', { role: 'assistant', tool_calls: [CHAT_CALL], tool_plan: 'Hm' }, 'cohere'],
  [
    'what Cohere answers',
    { finish_reason: 'TOOL_CALL', message: { role: 'assistant', tool_calls: [CHAT_CALL] } },
    'cohere',
  ],
  [
    'what Cohere answers without calls',
    { finishReason: 'COMPLETE', message: { role: 'assistant', content: [] } },
    'cohere',
  ],
  ['what Ollama answers', { message: { role: 'assistant', content: 'Hi' }, done: true }, 'ollama'],
  ['a message of Ollama', { role: 'assistant', content: '', tool_calls: [OLLAMA_CALL] }, 'ollama'],
  ['calls of Ollama', [OLLAMA_CALL], 'ollama'],
  ['a tool call with a type and its arguments as an object', [{ type: 'function', ...OLLAMA_CALL }], 'openai-chat'],
  ['a message of the AI SDK', { role: 'assistant', content: [{ type: 'text', text: 'Hm' }, SDK_PART] }, 'ai-sdk'],
  ['the messages of a response of the AI SDK', [{ role: 'assistant', content: [SDK_PART] }], 'ai-sdk'],
  ['the calls of a result of the AI SDK', { toolCalls: [SDK_PART] }, 'ai-sdk'],
  ['parts of the AI SDK', [SDK_PART], 'ai-sdk'],
  ['one part of the AI SDK', SDK_PART, 'ai-sdk'],
  [
    'chunks of Mastra',
    [{ type: 'tool-call', runId: 'r', from: 'AGENT', payload: { toolCallId: 'a', toolName: 'echo', args: {} } }],
    'ai-sdk',
  ],

  ['a message that could be of Mistral or of Cohere', { role: 'assistant', toolCalls: [CHAT_CALL] }, null],
  [
    'one choice of a completion',
    { index: 0, message: { role: 'assistant', tool_calls: [CHAT_CALL] }, finish_reason: 'tool_calls' },
    null,
  ],
  ['calls of several formats', [CHAT_CALL, TOOL_USE], null],
  ['calls of several formats in a message', { role: 'assistant', content: [TOOL_USE, SDK_PART] }, null],
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

// A text is detected as nothing: it looks like the service's own envelope.
const FORMATS = ALL_FORMATS.filter((format) => format !== 'text');

test.for(FORMATS)('a published turn of %s is nobody else’s, and native once it has calls', (format) => {
  for (const name of ['one-call', 'parallel-one-fails'] as const) {
    const body = toPublishedTurn(format, name);
    expect(detectDialect(body)?.format).toBe(format);
    expect(detectDialect(Array.isArray(body) ? {} : { ...Object(body), calls: [] })).toBe(null);
  }
  expect(Object.keys(PUBLISHED)).toContain(format);
  expect(Object.keys(SCENARIOS)).toContain('one-call');
});

test('what detects a body reads it', () => {
  let seen = 0;
  fc.assert(
    fc.property(toBodyArbitrary(), (body) => {
      const dialect = detectDialect(body);
      if (dialect === null) return;
      seen += 1;
      expect(dialect.parse(body)).not.toBe(null);
    }),
    { numRuns: 3000 },
  );
  expect(seen).toBeGreaterThan(200);
});
