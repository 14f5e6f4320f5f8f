import { type Answer, type AskedCall, defineDialect } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { isArray, isObject, listOf, member, toAskedId, toAskedName } from './json-access.ts';
import { isFailureText } from './observation.ts';

/** OpenAI's message for one answer: ChatCompletionToolMessageParam. It has no flag for failures. */
export type ChatToolMessage = {
  readonly role: 'tool';
  readonly tool_call_id: string;
  readonly content: string;
};

/**
 * OpenAI chat completions: a `tool_calls` array, an assistant message, or a whole completion, of whose choices the
 * first with tool calls is taken.
 */
export const openaiChat = defineDialect({
  format: 'openai-chat',
  readCalls: (body) => findToolCalls(body)?.map(toAsked) ?? null,
  writeAnswers: (answers) => answers.map(toMessage),
  writeTurn: (calls) => ({
    role: 'assistant',
    content: null,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.arguments) },
    })),
  }),
  readMessage: (message) => toReadAnswer(message),
});

const findToolCalls = (body: unknown): readonly unknown[] | null => {
  if (isArray(body)) return body;
  if (!isObject(body)) return null;
  const choices = member(body, 'choices');
  if (isArray(choices)) {
    const lists = choices.map((choice) => listOf(member(choice, 'message'), 'tool_calls'));
    return lists.find((calls) => calls.length > 0) ?? [];
  }
  const calls = member(body, 'tool_calls');
  if (isArray(calls)) return calls;
  return member(body, 'role') === 'assistant' ? [] : null;
};

const toAsked = (item: unknown): AskedCall => {
  if (!isObject(item)) return { id: '', name: null, call: item };
  const id = member(item, 'id');
  const custom = member(item, 'custom');
  const inner = isObject(custom) ? custom : member(item, 'function');
  const name = member(inner, 'name');
  const given = member(inner, isObject(custom) ? 'input' : 'arguments');
  return { id: toAskedId(id), name: toAskedName(name), call: { id, name, arguments: given } };
};

const toMessage = ({ asked, text }: Answer): ChatToolMessage => ({
  role: 'tool',
  tool_call_id: String(asked.id),
  content: text,
});

const toReadAnswer = (message: unknown): readonly ReadAnswer[] => {
  const content = member(message, 'content');
  if (member(message, 'role') !== 'tool' || typeof content !== 'string') return [];
  const id = toAskedId(member(message, 'tool_call_id'));
  return [{ id, name: null, success: !isFailureText(content), text: content }];
};
