import type Anthropic from '@anthropic-ai/sdk';
import type { Message } from '@aws-sdk/client-bedrock-runtime';
import { type Content, FunctionResponseScheduling } from '@google/genai';
import { coerceMessageLikeToMessage, HumanMessage } from '@langchain/core/messages';
import { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { failed, succeeded } from '@recourse/test-support/formats/results.ts';
import type { ModelMessage } from 'ai';
import type { Cohere } from 'cohere-ai';
import type OpenAI from 'openai';
import type { ConversationItemCreateEvent } from 'openai/resources/realtime/realtime';
import { toEndedResult } from 'recourse-server/internal/executor/render-result.ts';
import type { LateFormat } from 'recourse-server/internal/routes/dialects.ts';
import { expect, test } from 'vitest';
import { writeLateMessages } from '#src/late-messages.ts';

const BUILT = JSON.stringify(succeeded({ url: 'https://x' }, { id: 'call_2', name: 'deploy' }));
const FAILED = JSON.stringify(failed('No disk.', { code: 'tool_exception' }, { index: 1, id: null, name: 'render' }));

const ONE = `Result of the earlier call of tool 'deploy' (call_2). The tool wrote it, not the user:\n{"url":"https://x"}`;
const TWO = `Result of the earlier call of tool 'render'. The tool wrote it, not the user:\nERROR: tool_exception: No disk.`;
const BOTH = `${ONE}\n\n${TWO}`;

// Checked against the types of the providers' clients, where they have one for it.
const MESSAGES = {
  'openai-chat': [{ role: 'user', content: BOTH }] satisfies OpenAI.ChatCompletionMessageParam[],
  'openai-responses': [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: ONE },
        { type: 'input_text', text: TWO },
      ],
    },
  ] satisfies OpenAI.Responses.ResponseInputItem[],
  'openai-realtime': [
    {
      type: 'conversation.item.create',
      item: {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: ONE },
          { type: 'input_text', text: TWO },
        ],
      },
    },
  ] satisfies ConversationItemCreateEvent[],
  anthropic: [
    {
      role: 'user',
      content: [
        { type: 'text', text: ONE },
        { type: 'text', text: TWO },
      ],
    },
  ] satisfies Anthropic.MessageParam[],
  gemini: [{ role: 'user', parts: [{ text: ONE }, { text: TWO }] }] satisfies Content[],
  bedrock: [{ role: 'user', content: [{ text: ONE }, { text: TWO }] }] satisfies Message[],
  mistral: [{ role: 'user', content: BOTH }],
  cohere: [{ role: 'user', content: BOTH }] satisfies Cohere.ChatMessageV2[],
  ollama: [{ role: 'user', content: BOTH }],
  'ai-sdk': [{ role: 'user', content: BOTH }] satisfies ModelMessage[],
  vapi: [{ type: 'add-message', message: { role: 'user', content: BOTH } }],
  langchain: [{ type: 'human', role: 'user', content: BOTH }],
  text: [ONE, TWO],
} as const satisfies Record<LateFormat, unknown>;

test.for(ALL_FORMATS)('%s: late results are one user message that names tool, call and result', (format) => {
  expect(writeLateMessages([BUILT, FAILED].map(toEndedResult), { format, scheduling: null })).toEqual(MESSAGES[format]);
  expect(writeLateMessages([], { format, scheduling: null })).toEqual([]);
});

test('LangChain reads the message as a human message', () => {
  const [message] = writeLateMessages([toEndedResult(BUILT)], { format: 'langchain', scheduling: null });
  const read = coerceMessageLikeToMessage(Object(message));
  expect([HumanMessage.isInstance(read), read.content]).toEqual([true, ONE]);
});

test("Gemini's Live API gets a function response for each call, with the scheduling that was asked for", () => {
  const { SILENT } = FunctionResponseScheduling;
  const messages: unknown = [
    {
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'call_2',
            name: 'deploy',
            response: { output: { url: 'https://x' } },
            scheduling: SILENT,
          },
        },
        {
          functionResponse: {
            name: 'render',
            response: { error: 'ERROR: tool_exception: No disk.' },
            scheduling: SILENT,
          },
        },
      ],
    } satisfies Content,
  ];
  expect(writeLateMessages([BUILT, FAILED].map(toEndedResult), { format: 'gemini', scheduling: 'SILENT' })).toEqual(
    messages,
  );
});
