import {
  AS_OBJECT,
  AS_TEXT,
  CHAT_CALL,
  CUSTOM_CALL,
  ITEM,
  LANGCHAIN_CALL,
  type Row,
  TOOL_BLOCK,
  TOOL_USE,
} from '@recourse/test-support/formats/provider-calls.ts';
import { expect, test } from 'vitest';
import { DIALECTS } from '#src/dialects.ts';

const BLANK_CHAT = { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '' } };
const LOST = { id: 'call_1', name: 'echo', arguments: '{' };

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
