import { readSpelledCalls, readToolMessage, type SpelledCall, toSpelledId, writeChatCall } from './chat-calls.ts';
import { withoutCutOff } from './cut-off.ts';
import { type Answer, defineDialect } from './define-dialect.ts';
import { isObject, member } from './json-access.ts';

/** Cohere's ToolChatMessageV2, as its TypeScript client has it or as its API. It has no flag for failures. */
export type CohereToolMessage = { readonly role: 'tool'; readonly content: string } & (
  | { readonly toolCallId: string }
  | { readonly tool_call_id: string }
);

/**
 * Cohere, version 2 of its chat: a message, the whole answer, or the calls alone. Answered in the spelling that was asked;
 * calls alone are answered as the TypeScript client has it.
 */
export const cohere = defineDialect<SpelledCall>({
  format: 'cohere',
  spellings: ['openai-chat'],
  readCalls: (body) => {
    const message = member(body, 'message');
    const found = readSpelledCalls(isObject(message) ? message : body);
    return found === null ? null : withoutCutOff(found, body);
  },
  writeAnswers: (answers) => answers.map(toMessage),
  writeTurn: (calls) => ({ role: 'assistant', toolPlan: '', toolCalls: calls.map(writeChatCall) }),
  readMessage: (message) => readToolMessage(message),
});

const toMessage = ({ asked, text }: Answer<SpelledCall>): CohereToolMessage => ({
  role: 'tool',
  ...toSpelledId(asked),
  content: text,
});
