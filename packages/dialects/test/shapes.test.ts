import {
  AS_OBJECT,
  AS_TEXT,
  CHAT_CALL,
  CUSTOM_CALL,
  ITEM,
  LANGCHAIN_CALL,
  NO_ID,
  PART,
  type Row,
  SDK_PART,
  TOOL_BLOCK,
  TOOL_USE,
} from '@recourse/test-support/formats/provider-calls.ts';
import { expect, test } from 'vitest';
import { DIALECTS } from '#src/dialects.ts';

// Two candidates side by side, as streamGenerateContent gives them in a list.
const STREAM = [
  { candidates: [{ content: { role: 'model', parts: [{ text: 'Hm' }] }, index: 0 }] },
  { candidates: [{ content: { role: 'model', parts: [PART] }, index: 1 }], modelVersion: 'gemini-3-pro' },
  { candidates: [{ content: { parts: [{ functionCall: { name: 'add', args: { text: 'a' } } }] }, index: 1 }] },
  { usageMetadata: { totalTokenCount: 5 } },
];

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

test.for(ROWS)('%s of %s', ([, format, body, calls]) => {
  expect(DIALECTS.get(format)?.parse(body)?.calls ?? null).toEqual(calls);
});
