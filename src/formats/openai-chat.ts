import { toChatCall, writeChatCall } from './chat-calls.ts';
import { withoutCutOff } from './cut-off.ts';
import { type Answer, type AskedCall, defineDialect, type FoundCalls } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { isArray, isObject, listOf, member, toAskedId, toAskedName } from './json-access.ts';
import { isFailureText } from './observation.ts';

/** OpenAI's message for one answer: ChatCompletionToolMessageParam. It has no flag for failures. */
export type ChatToolMessage = {
  readonly role: 'tool';
  readonly tool_call_id: string;
  readonly content: string;
};

/** The answer to the `function_call` of old: ChatCompletionFunctionMessageParam. */
export type ChatFunctionMessage = { readonly role: 'function'; readonly name: string; readonly content: string };

/** `function`: the one `function_call` that a message could have before there were `tool_calls`. */
type ChatCall = AskedCall & { readonly kind: 'tool' | 'function' };

/**
 * OpenAI chat completions: a `tool_calls` array, an assistant message, or a whole completion, of whose choices the
 * first with calls is taken. The `function_call` of old is answered as such.
 */
export const openaiChat = defineDialect<ChatCall>({
  format: 'openai-chat',
  spellings: ['openai-chat'],
  readCalls: (body) => {
    if (isArray(body)) return { entries: body, calls: body.map(toToolCall) };
    if (!isObject(body)) return null;
    const choices = member(body, 'choices');
    if (!isArray(choices)) return readMessage(body);
    const messages = choices.flatMap((choice) => readChoice(choice) ?? []);
    return messages.find(({ calls }) => calls.length > 0) ?? { entries: [], calls: [] };
  },
  writeAnswers: (answers) => answers.map(toMessage),
  writeTurn: (calls) => ({ role: 'assistant', content: null, tool_calls: calls.map(writeChatCall) }),
  readMessage: (message) => toReadAnswer(message),
});

const readChoice = (choice: unknown): FoundCalls<ChatCall> | null => {
  const found = readMessage(member(choice, 'message'));
  return found === null ? null : withoutCutOff(found, choice);
};

const readMessage = (message: unknown): FoundCalls<ChatCall> | null => {
  const entries = listOf(message, 'tool_calls');
  const single = member(message, 'function_call');
  // Beside a list it is a copy, and would run twice.
  const calls = entries.length === 0 && isObject(single) ? [toFunctionCall(single)] : entries.map(toToolCall);
  const isTurn = isArray(member(message, 'tool_calls')) || member(message, 'role') === 'assistant' || isObject(single);
  return isTurn ? { entries, calls } : null;
};

const toToolCall = (item: unknown): ChatCall => ({ ...toChatCall(item), kind: 'tool' });

const toFunctionCall = (given: object): ChatCall => {
  const name = member(given, 'name');
  const call = { id: undefined, name, arguments: member(given, 'arguments') };
  return { id: '', name: toAskedName(name), call, kind: 'function' };
};

// The API refuses an answer without a name.
const UNNAMED = 'unknown';

const toMessage = ({ asked, text }: Answer<ChatCall>): ChatToolMessage | ChatFunctionMessage =>
  asked.kind === 'tool'
    ? { role: 'tool', tool_call_id: String(asked.id), content: text }
    : { role: 'function', name: asked.name ?? UNNAMED, content: text };

const toReadAnswer = (message: unknown): readonly ReadAnswer[] => {
  const content = member(message, 'content');
  const role = member(message, 'role');
  if ((role !== 'tool' && role !== 'function') || typeof content !== 'string') return [];
  const success = !isFailureText(content);
  if (role === 'function') return [{ id: null, name: toAskedName(member(message, 'name')), success, text: content }];
  return [{ id: toAskedId(member(message, 'tool_call_id')), name: null, success, text: content }];
};
