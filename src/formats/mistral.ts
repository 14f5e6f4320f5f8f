import { readSpelledCalls, readToolMessage, type SpelledCall, toSpelledId, writeChatCall } from './chat-calls.ts';
import { withoutCutOff } from './cut-off.ts';
import { type Answer, defineDialect } from './define-dialect.ts';
import { isArray, member } from './json-access.ts';

/** Mistral's ToolMessage, as its TypeScript client has it or as its API. It has no flag for failures. */
export type MistralToolMessage = {
  readonly role: 'tool';
  readonly name?: string;
  readonly content: string;
} & ({ readonly toolCallId: string } | { readonly tool_call_id: string });

/**
 * Mistral: a message, the whole answer, of whose choices the first with calls is taken, or the calls alone. Answered in the
 * spelling that was asked; calls alone are answered as the TypeScript client has it.
 */
export const mistral = defineDialect<SpelledCall>({
  format: 'mistral',
  spellings: ['openai-chat'],
  readCalls: (body) => {
    const choices = member(body, 'choices');
    if (!isArray(choices)) return readSpelledCalls(body);
    const messages = choices.flatMap((choice) => {
      const found = readSpelledCalls(member(choice, 'message'));
      return found === null ? [] : [withoutCutOff(found, choice)];
    });
    return messages.find(({ entries }) => entries.length > 0) ?? { entries: [], calls: [] };
  },
  writeAnswers: (answers) => answers.map(toMessage),
  writeTurn: (calls) => ({
    role: 'assistant',
    content: '',
    toolCalls: calls.map((call, index) => ({ ...writeChatCall(call), index })),
    prefix: false,
  }),
  readMessage: (message) => readToolMessage(message),
});

const toMessage = ({ asked, text }: Answer<SpelledCall>): MistralToolMessage => ({
  role: 'tool',
  ...toSpelledId(asked),
  ...(asked.name === null ? {} : { name: asked.name }),
  content: text,
});
