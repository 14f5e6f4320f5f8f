import {
  CHAT_CALL,
  CUSTOM_CALL,
  ITEM,
  LANGCHAIN_CALL,
  PART,
  SDK_PART,
} from '@recourse/test-support/formats/provider-calls.ts';
import {
  aiSdkMessage,
  anthropicMessage,
  chatCompletion,
  cohereResponse,
  converseOutput,
  geminiResponse,
  langchainMessage,
  mistralResponse,
  ollamaResponse,
  openaiResponse,
  realtimeEvent,
} from '@recourse/test-support/formats/published-turns.ts';
import type { ConversationFormat } from '../../../clients/typescript/src/write-answers.ts';

const CALLS = [
  { id: 'call_1', name: 'place_order', arguments: '{"item":"lamp","count":2}' },
  { id: 'call_2', name: 'send_mail', arguments: '{}' },
];

const CUSTOM_ITEM = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'echo', input: 'free text' };

/** Messages of models that every client answers by itself where the service gave no answer. */
export const MESSAGES: readonly (readonly [string, ConversationFormat, unknown])[] = [
  ['a completion', 'openai-chat', chatCompletion(CALLS)],
  ['a list of calls, one of a custom tool', 'openai-chat', [CHAT_CALL, CUSTOM_CALL]],
  ['a response', 'openai-responses', openaiResponse(CALLS)],
  ['items, one of a custom tool', 'openai-responses', [ITEM, CUSTOM_ITEM]],
  ['an event', 'openai-realtime', realtimeEvent(CALLS)],
  ['a message', 'anthropic', anthropicMessage(CALLS)],
  ['a response', 'gemini', geminiResponse(CALLS)],
  ['a content without ids', 'gemini', { role: 'model', parts: [{ text: 'Hm' }, PART, PART] }],
  ['an output', 'bedrock', converseOutput(CALLS)],
  ['a response', 'mistral', mistralResponse(CALLS)],
  ['a message of its API', 'mistral', { role: 'assistant', content: '', tool_calls: [CHAT_CALL] }],
  ['a response', 'cohere', cohereResponse(CALLS)],
  ['a response', 'ollama', ollamaResponse(CALLS)],
  ['a message', 'ai-sdk', aiSdkMessage(CALLS)],
  [
    'parts, one executed by the provider',
    'ai-sdk',
    [SDK_PART, { ...SDK_PART, toolCallId: 'call_9', providerExecuted: true }],
  ],
  ['a stored message', 'langchain', langchainMessage(CALLS)],
  [
    'a message that holds a call again as its provider wrote it, and one that is no JSON',
    'langchain',
    {
      ...{ type: 'ai', content: [{ ...ITEM }], additional_kwargs: { tool_calls: [CHAT_CALL] } },
      tool_calls: [LANGCHAIN_CALL],
      invalid_tool_calls: [{ type: 'invalid_tool_call', id: 'call_2', name: 'echo', args: '{"text": ' }],
    },
  ],
];
