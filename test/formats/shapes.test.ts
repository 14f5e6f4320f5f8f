import { expect, test } from 'vitest';
import { DIALECTS } from '#src/formats/dialects.ts';
import { succeeded } from '#test/formats/results.ts';

type Format = Parameters<typeof DIALECTS.get>[0];
type Row = readonly [string, Format, unknown, readonly unknown[] | null];

const CHAT_CALL = { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{"text":"a"}' } };
const CUSTOM_CALL = { id: 'call_2', type: 'custom', custom: { name: 'echo', input: 'free text' } };
const TOOL_USE = { type: 'tool_use', id: 'toolu_1', name: 'echo', input: { text: 'a' } };
const ITEM = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'echo', arguments: '{"text":"a"}' };
const PART = { functionCall: { name: 'echo', args: { text: 'a' } } };
const TOOL_BLOCK = { toolUse: { toolUseId: 'tooluse_1', name: 'echo', input: { text: 'a' } } };
const SDK_PART = { type: 'tool-call', toolCallId: 'call_1', toolName: 'echo', input: { text: 'a' } };
// Two candidates side by side, as streamGenerateContent gives them in a list.
const STREAM = [
  { candidates: [{ content: { role: 'model', parts: [{ text: 'Hm' }] }, index: 0 }] },
  { candidates: [{ content: { role: 'model', parts: [PART] }, index: 1 }], modelVersion: 'gemini-3-pro' },
  { candidates: [{ content: { parts: [{ functionCall: { name: 'add', args: { text: 'a' } } }] }, index: 1 }] },
  { usageMetadata: { totalTokenCount: 5 } },
];
const LANGCHAIN_CALL = { name: 'echo', args: { text: 'a' }, id: 'call_1', type: 'tool_call' };

const AS_TEXT = { id: 'call_1', name: 'echo', arguments: '{"text":"a"}' };
const AS_OBJECT = { id: 'call_1', name: 'echo', arguments: { text: 'a' } };
const NO_ID = { id: undefined, name: 'echo', arguments: { text: 'a' } };

const BLANK_CHAT = { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '' } };
const LOST = { id: 'call_1', name: 'echo', arguments: '{' };

const ROWS: readonly Row[] = [
  ['a bare array', 'openai-chat', [CHAT_CALL], [AS_TEXT]],
  ['an object of tool_calls', 'openai-chat', { tool_calls: [CHAT_CALL] }, [AS_TEXT]],
  ['an assistant message', 'openai-chat', { role: 'assistant', content: 'Hm', tool_calls: [CHAT_CALL] }, [AS_TEXT]],
  ['a message without tool calls', 'openai-chat', { role: 'assistant', content: 'Hi' }, []],
  [
    'the first choice with tool calls',
    'openai-chat',
    {
      choices: [
        { message: { content: 'Hi' } },
        { message: { tool_calls: [CHAT_CALL] } },
        { message: { tool_calls: [1] } },
      ],
    },
    [AS_TEXT],
  ],
  ['a completion without tool calls', 'openai-chat', { choices: [{ message: { content: 'Hi' } }] }, []],
  [
    'a custom tool call, its input as it is',
    'openai-chat',
    [CUSTOM_CALL],
    [{ id: 'call_2', name: 'echo', arguments: 'free text', written: 'freely' }],
  ],
  ['a native envelope', 'openai-chat', { calls: [], tool_calls: [CHAT_CALL] }, null],
  ['something else', 'openai-chat', { candidates: [] }, null],

  ['a response', 'openai-responses', { object: 'response', output: [ITEM] }, [AS_TEXT]],
  ['one item', 'openai-responses', ITEM, [AS_TEXT]],
  [
    'what the provider or the runtime runs itself is left out',
    'openai-responses',
    [
      ...['reasoning', 'message', 'web_search_call', 'file_search_call', 'mcp_call', 'code_interpreter_call'],
      ...['image_generation_call', 'computer_call', 'local_shell_call', 'mcp_approval_request'],
    ]
      .map((type): unknown => ({ type, id: 'x', call_id: 'y', name: 'echo', arguments: '{}' }))
      .concat([ITEM]),
    [AS_TEXT],
  ],
  ['a text', 'openai-responses', 'function_call', null],
  ['a call in two spellings', 'cohere', { role: 'assistant', toolCalls: [CHAT_CALL], tool_calls: [CHAT_CALL] }, null],
  ['a call in two spellings', 'mistral', { role: 'assistant', toolCalls: [CHAT_CALL], tool_calls: [CHAT_CALL] }, null],

  ['a content array', 'anthropic', [{ type: 'text', text: 'Hm' }, TOOL_USE], [{ ...AS_OBJECT, id: 'toolu_1' }]],
  ['a turn', 'anthropic', { role: 'assistant', content: [TOOL_USE] }, [{ ...AS_OBJECT, id: 'toolu_1' }]],
  ['a turn of a text', 'anthropic', { role: 'assistant', content: 'Hi' }, []],
  [
    "the provider's own tools are never answered",
    'anthropic',
    [
      { ...TOOL_USE, type: 'server_tool_use' },
      { ...TOOL_USE, type: 'mcp_tool_use' },
      { type: 'thinking', thinking: 'Hm' },
    ],
    [],
  ],
  ["a user's message", 'anthropic', { role: 'user', content: [TOOL_USE] }, null],

  [
    'the function_call of old',
    'openai-chat',
    { role: 'assistant', content: null, function_call: { name: 'echo', arguments: '{"text":"a"}' } },
    [{ ...AS_TEXT, id: undefined }],
  ],
  [
    'a function_call beside the same call in tool_calls',
    'openai-chat',
    { role: 'assistant', tool_calls: [CHAT_CALL], function_call: { name: 'echo', arguments: '{"text":"a"}' } },
    [AS_TEXT],
  ],
  ['the end of a stream', 'openai-responses', { type: 'response.completed', response: { output: [ITEM] } }, [AS_TEXT]],
  [
    'the event',
    'openai-realtime',
    { type: 'response.done', response: { output: [{ type: 'message' }, ITEM] } },
    [AS_TEXT],
  ],
  ['its response', 'openai-realtime', { object: 'realtime.response', output: [ITEM] }, [AS_TEXT]],
  ['an event without calls', 'openai-realtime', { type: 'response.done', response: { output: [] } }, []],
  ['another event', 'openai-realtime', { type: 'response.created', response: { output: [] } }, null],

  [
    'a message',
    'bedrock',
    { role: 'assistant', content: [{ text: 'Hm' }, TOOL_BLOCK] },
    [{ ...AS_OBJECT, id: 'tooluse_1' }],
  ],
  ['content', 'bedrock', [TOOL_BLOCK], [{ ...AS_OBJECT, id: 'tooluse_1' }]],
  ['a message without calls', 'bedrock', { role: 'assistant', content: [{ text: 'Hi' }] }, []],
  ["a user's message", 'bedrock', { role: 'user', content: [TOOL_BLOCK] }, null],

  ['calls alone', 'mistral', [CHAT_CALL], [AS_TEXT]],
  [
    'arguments as an object',
    'mistral',
    { toolCalls: [{ id: 'call_1', function: { name: 'echo', arguments: { text: 'a' } } }] },
    [AS_OBJECT],
  ],
  ['the message of the API', 'mistral', { role: 'assistant', tool_calls: [CHAT_CALL] }, [AS_TEXT]],
  ['a message without calls', 'mistral', { role: 'assistant', content: 'Hi', toolCalls: null }, []],
  ['an answer without calls', 'mistral', { choices: [{ message: { role: 'assistant', content: 'Hi' } }] }, []],
  [
    'the answer of the API',
    'cohere',
    { finish_reason: 'TOOL_CALL', message: { role: 'assistant', tool_calls: [CHAT_CALL] } },
    [AS_TEXT],
  ],
  ['a message', 'cohere', { role: 'assistant', toolCalls: [CHAT_CALL] }, [AS_TEXT]],
  ['calls alone', 'ollama', [{ function: { name: 'echo', arguments: { text: 'a' } } }], [NO_ID]],
  [
    'a message',
    'ollama',
    { role: 'assistant', content: '', tool_calls: [{ function: { name: 'echo', arguments: { text: 'a' } } }] },
    [NO_ID],
  ],
  ['a message without calls', 'ollama', { role: 'assistant', content: 'Hi' }, []],

  ['one part', 'ai-sdk', SDK_PART, [AS_OBJECT]],
  ['the calls of a result', 'ai-sdk', { text: '', toolCalls: [SDK_PART] }, [AS_OBJECT]],
  [
    'the last of the messages of a response',
    'ai-sdk',
    [
      { role: 'assistant', content: 'Hm' },
      { role: 'assistant', content: [SDK_PART] },
    ],
    [AS_OBJECT],
  ],
  [
    'the args of version 4',
    'ai-sdk',
    [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'echo', args: { text: 'a' } }],
    [AS_OBJECT],
  ],
  ['the input that a model gives as text', 'ai-sdk', [{ ...SDK_PART, input: '{"text":"a"}' }], [AS_TEXT]],
  [
    'chunks of Mastra',
    'ai-sdk',
    [{ type: 'tool-call', runId: 'r', payload: { toolCallId: 'call_1', toolName: 'echo', args: { text: 'a' } } }],
    [AS_OBJECT],
  ],
  ['a message of a text', 'ai-sdk', { role: 'assistant', content: 'Hi' }, []],

  ['the responses of a stream', 'gemini', STREAM, [NO_ID, { ...NO_ID, name: 'add' }]],
  ['a parts array', 'gemini', [{ text: 'Hm' }, PART], [NO_ID]],
  ['a content', 'gemini', { role: 'model', parts: [PART] }, [NO_ID]],
  [
    'the first candidate with calls',
    'gemini',
    {
      candidates: [{ finishReason: 'SAFETY' }, { content: { parts: [PART] } }, { content: { parts: [1, PART, PART] } }],
    },
    [NO_ID],
  ],
  [
    'more parts than a function takes arguments',
    'gemini',
    { candidates: [{ content: { parts: Array.from({ length: 130_000 }, () => 0) } }] },
    [],
  ],
  ['a blocked prompt', 'gemini', { candidates: [] }, []],
  ['functionCalls of the SDK', 'gemini', { functionCalls: [{ id: 'call_1', ...PART.functionCall }] }, [AS_OBJECT]],
  [
    "Python's dump",
    'gemini',
    [
      { function_call: null, text: 'Hm' },
      { function_call: { id: null, name: 'echo', args: { text: 'a' } }, text: null },
    ],
    [{ ...NO_ID, id: null }],
  ],

  ['flat calls', 'vapi', { message: { type: 'tool-calls', toolCallList: [{ ...AS_OBJECT }] } }, [AS_OBJECT]],
  ['calls as OpenAI writes them', 'vapi', { message: { type: 'tool-calls', toolCallList: [CHAT_CALL] } }, [AS_TEXT]],
  [
    'parameters for arguments',
    'vapi',
    { message: { type: 'tool-calls', toolCallList: [{ id: 'call_1', name: 'echo', parameters: { text: 'a' } }] } },
    [AS_OBJECT],
  ],
  ['the older list', 'vapi', { message: { type: 'tool-calls', toolCalls: [CHAT_CALL] } }, [AS_TEXT]],
  ['another message', 'vapi', { message: { type: 'status-update' } }, null],

  ['an AIMessage', 'langchain', { type: 'ai', content: '', tool_calls: [LANGCHAIN_CALL] }, [AS_OBJECT]],
  ['a stored AIMessage', 'langchain', { type: 'ai', data: { tool_calls: [LANGCHAIN_CALL] } }, [AS_OBJECT]],
  [
    'a serialised AIMessage',
    'langchain',
    {
      lc: 1,
      type: 'constructor',
      id: ['langchain_core', 'messages', 'AIMessage'],
      kwargs: { tool_calls: [LANGCHAIN_CALL] },
    },
    [AS_OBJECT],
  ],
  ['its tool calls alone', 'langchain', [LANGCHAIN_CALL], [AS_OBJECT]],
  ['something else', 'langchain', { type: 'human', content: 'Hi' }, null],

  ['the native envelope', 'text', { calls: [AS_OBJECT, 42] }, [AS_OBJECT, 42]],
  ['anything else', 'text', { tool_calls: [CHAT_CALL] }, null],
];

const BROKEN: readonly Row[] = [
  [
    'the calls before one',
    'openai-chat',
    { choices: [{ finish_reason: 'length', message: { tool_calls: [CHAT_CALL, BLANK_CHAT] } }] },
    [AS_TEXT, LOST],
  ],
  [
    'a call without arguments of a turn that ended well',
    'openai-chat',
    { choices: [{ finish_reason: 'tool_calls', message: { tool_calls: [BLANK_CHAT] } }] },
    [{ ...LOST, arguments: '' }],
  ],
  [
    'a free text',
    'openai-chat',
    { choices: [{ finish_reason: 'length', message: { tool_calls: [CUSTOM_CALL] } }] },
    [{ ...LOST, id: 'call_2' }],
  ],
  ['a choice', 'mistral', { choices: [{ finishReason: 'length', message: { toolCalls: [BLANK_CHAT] } }] }, [LOST]],
  ['an answer', 'cohere', { finishReason: 'MAX_TOKENS', message: { toolCalls: [BLANK_CHAT] } }, [LOST]],
  [
    'a block',
    'anthropic',
    { stop_reason: 'max_tokens', content: [{ ...TOOL_USE, input: {} }] },
    [{ ...LOST, id: 'toolu_1' }],
  ],
  [
    'a text after a block',
    'anthropic',
    {
      stop_reason: 'max_tokens',
      content: [
        { ...TOOL_USE, input: {} },
        { type: 'text', text: 'Hm' },
      ],
    },
    [{ ...LOST, id: 'toolu_1', arguments: {} }],
  ],
  [
    'a block',
    'bedrock',
    {
      stopReason: 'max_tokens',
      output: { message: { role: 'assistant', content: [{ toolUse: { ...TOOL_BLOCK.toolUse, input: {} } }] } },
    },
    [{ ...LOST, id: 'tooluse_1' }],
  ],
  ['an item', 'openai-responses', [{ ...ITEM, status: 'incomplete', arguments: '' }, ITEM], [LOST, AS_TEXT]],
  ['the last item', 'openai-responses', { status: 'incomplete', output: [{ ...ITEM, arguments: '{}' }] }, [LOST]],
  [
    'an item',
    'openai-realtime',
    {
      type: 'response.done',
      response: { status: 'cancelled', output: [{ ...ITEM, status: 'incomplete', arguments: '' }] },
    },
    [LOST],
  ],
  [
    'a chunk',
    'langchain',
    {
      type: 'AIMessageChunk',
      content: '',
      tool_calls: [
        { ...LANGCHAIN_CALL, args: {} },
        { ...LANGCHAIN_CALL, id: 'call_2' },
      ],
      tool_call_chunks: [
        { name: 'echo', args: '{"to":', id: 'call_1', index: 0, type: 'tool_call_chunk' },
        { name: 'echo', args: '{"text":"a"}', id: 'call_2', index: 1, type: 'tool_call_chunk' },
      ],
    },
    [LOST, { ...AS_OBJECT, id: 'call_2' }],
  ],
];

test.for(BROKEN)('a call that was cut off loses its arguments, %s of %s', ([, format, body, calls]) => {
  expect(DIALECTS.get(format)?.parse(body)?.calls ?? null).toEqual(calls);
});

test.for(ROWS)('%s of %s', ([, format, body, calls]) => {
  expect(DIALECTS.get(format)?.parse(body)?.calls ?? null).toEqual(calls);
});

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
