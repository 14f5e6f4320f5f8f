import type { MessageFormat, MessageOf } from './message-formats.ts';
import type { MessageCall } from './read-calls.ts';

/** The formats in which a conversation goes on. */
export type ConversationFormat = Exclude<MessageFormat, 'text' | 'vapi'>;

/** What a model reads for one of its calls. */
export type AnsweredCall = { readonly call: MessageCall; readonly text: string; readonly isError: boolean };

type Writers = { readonly [Format in ConversationFormat]: (answers: readonly AnsweredCall[]) => MessageOf[Format][] };

/** Answers in the form that the provider of the message takes, one for each call, where the service gave none. */
export const writeAnswers = <Format extends ConversationFormat>(
  format: Format,
  answers: readonly AnsweredCall[],
): MessageOf[Format][] => WRITERS[format](answers);

const toOutput = ({ call, text }: AnsweredCall) =>
  call.manner === 'custom'
    ? ({ type: 'custom_tool_call_output', call_id: call.id, output: text } as const)
    : ({ type: 'function_call_output', call_id: call.id, output: text } as const);

const toSpelledId = ({ id, manner }: MessageCall) => (manner === 'camel' ? { toolCallId: id } : { tool_call_id: id });

const WRITERS: Writers = {
  'openai-chat': (answers) => answers.map(({ call, text }) => ({ role: 'tool', tool_call_id: call.id, content: text })),
  'openai-responses': (answers) => answers.map(toOutput),
  'openai-realtime': (answers) =>
    answers.map(({ call, text }) => ({
      type: 'conversation.item.create',
      item: { type: 'function_call_output', call_id: call.id, output: text },
    })),
  anthropic: (answers) => [
    {
      role: 'user',
      content: answers.map(({ call, text, isError }) => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content: text,
        ...(isError ? { is_error: true } : {}),
      })),
    },
  ],
  gemini: (answers) => [
    {
      role: 'user',
      parts: answers.map(({ call: { id, name }, text, isError }) => ({
        functionResponse: {
          ...(id === '' ? {} : { id }),
          name,
          response: isError ? { error: text } : { output: text },
        },
      })),
    },
  ],
  bedrock: (answers) => [
    {
      role: 'user',
      content: answers.map(({ call, text, isError }) => ({
        toolResult: { toolUseId: call.id, content: [{ text }], ...(isError ? { status: 'error' } : {}) },
      })),
    },
  ],
  mistral: (answers) =>
    answers.map(({ call, text }) => ({ role: 'tool', name: call.name, content: text, ...toSpelledId(call) })),
  cohere: (answers) => answers.map(({ call, text }) => ({ role: 'tool', content: text, ...toSpelledId(call) })),
  ollama: (answers) =>
    answers.map(({ call: { id, name }, text }) => ({
      role: 'tool',
      content: text,
      tool_name: name,
      ...(id === '' ? {} : { tool_call_id: id }),
    })),
  'ai-sdk': (answers) => [
    {
      role: 'tool',
      content: answers.map(({ call, text, isError }) => ({
        type: 'tool-result',
        toolCallId: call.id,
        toolName: call.name,
        output: { type: isError ? 'error-text' : 'text', value: text },
      })),
    },
  ],
  langchain: (answers) =>
    answers.map(({ call, text, isError }) => ({
      type: 'tool',
      role: 'tool',
      content: text,
      tool_call_id: call.id,
      name: call.name,
      status: isError ? 'error' : 'success',
    })),
};
