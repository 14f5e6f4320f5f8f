import type Anthropic from '@anthropic-ai/sdk';
import type { Message } from '@aws-sdk/client-bedrock-runtime';
import type { Content } from '@google/genai';
import { AIMessage, coerceMessageLikeToMessage, ToolMessage } from '@langchain/core/messages';
import type { ToolMessage as ToolMessageOfMistral } from '@mistralai/mistralai/models/components';
import { failed, succeeded } from '@recourse/test-support/formats/results.ts';
import type { ModelMessage } from 'ai';
import type { Cohere } from 'cohere-ai';
import type { Message as OllamaMessage } from 'ollama';
import type OpenAI from 'openai';
import type { ConversationItemCreateEvent } from 'openai/resources/realtime/realtime';
import { expect, expectTypeOf, test } from 'vitest';
import type { BedrockMessage, ToolModelMessage, ToolResultMessage } from '#src/block-dialects.ts';
import type {
  ChatFunctionMessage,
  ChatToolMessage,
  CohereToolMessage,
  MistralToolMessage,
  OllamaToolMessage,
} from '#src/chat-dialects.ts';
import { DIALECTS, detectDialect } from '#src/dialects.ts';
import type { FunctionResponseContent } from '#src/gemini.ts';
import type { FunctionCallOutput, ItemCreateEvent } from '#src/item-dialects.ts';
import type { LangchainToolMessage } from '#src/langchain.ts';

test('the messages are of the types of the providers’ clients', () => {
  expectTypeOf<ChatToolMessage>().toExtend<OpenAI.ChatCompletionMessageParam>();
  expectTypeOf<FunctionCallOutput>().toExtend<OpenAI.Responses.ResponseInputItem>();
  expectTypeOf<ToolResultMessage>().toExtend<Anthropic.MessageParam>();
  expectTypeOf<Extract<FunctionResponseContent['parts'][number], { functionResponse: unknown }>>().toExtend<
    NonNullable<Content['parts']>[number]
  >();
  expectTypeOf<ChatFunctionMessage>().toExtend<OpenAI.ChatCompletionMessageParam>();
  expectTypeOf<ItemCreateEvent>().toExtend<ConversationItemCreateEvent>();
  expectTypeOf<BedrockMessage>().toExtend<Message>();
  expectTypeOf<Extract<MistralToolMessage, { toolCallId: string }>>().toExtend<ToolMessageOfMistral>();
  expectTypeOf<Extract<CohereToolMessage, { toolCallId: string }>>().toExtend<Cohere.ChatMessageV2>();
  expectTypeOf<OllamaToolMessage>().toExtend<OllamaMessage>();
  expectTypeOf<ToolModelMessage>().toExtend<ModelMessage>();
  expectTypeOf<LangchainToolMessage>().toExtend<{
    content: string;
    tool_call_id: string;
    status?: 'success' | 'error';
  }>();
});

const CALLS = [
  { name: 'add', args: { x: 1 }, id: 'call_1', type: 'tool_call' as const },
  { name: 'echo', args: {}, id: 'call_2', type: 'tool_call' as const },
];
const message = new AIMessage({
  content: '',
  tool_calls: CALLS,
  invalid_tool_calls: [
    { name: 'add', args: '{"x"', id: 'call_3', error: 'Malformed args.', type: 'invalid_tool_call' },
  ],
});

const WRITTEN: readonly (readonly [string, unknown])[] = [
  ['as its own JSON', JSON.parse(JSON.stringify(message))],
  ['stored', JSON.parse(JSON.stringify(message.toDict()))],
  ['as its members', JSON.parse(JSON.stringify({ ...message }))],
];

test.for(WRITTEN)('an AIMessage of LangChain %s is answered with messages that LangChain reads', ([, body]) => {
  const dialect = DIALECTS.get('langchain');
  expect(detectDialect(body)).toBe(dialect);
  const turn = dialect?.parse(body);
  expect(turn?.calls).toEqual([
    { id: 'call_1', name: 'add', arguments: { x: 1 } },
    { id: 'call_2', name: 'echo', arguments: {} },
    { id: 'call_3', name: 'add', arguments: '{"x"' },
  ]);
  const answers = turn?.toMessages([
    succeeded('3'),
    succeeded('hi'),
    failed('Not JSON.', { code: 'invalid_arguments' }),
  ]);
  const read = (answers ?? []).map((answer) => coerceMessageLikeToMessage(Object(answer)));
  expect(read.every((answer) => ToolMessage.isInstance(answer))).toBe(true);
  expect(read.map((answer) => (ToolMessage.isInstance(answer) ? toFields(answer) : null))).toEqual([
    ['call_1', 'add', 'success', '3'],
    ['call_2', 'echo', 'success', 'hi'],
    ['call_3', 'add', 'error', 'ERROR: invalid_arguments: Not JSON.'],
  ]);
});

const toFields = (answer: ToolMessage) => [answer.tool_call_id, answer.name, answer.status, answer.content];
