import { type AskedCall, type FoundCalls, foundIn } from './define-dialect.ts';
import type { ReadAnswer, TurnCall } from './dialect.ts';
import { isArray, isObject, listOf, member, toAskedId, toAskedName } from './json-access.ts';
import { isFailureText } from './observation.ts';

// How OpenAI's chat completions write a call. Mistral, Cohere and Ollama write theirs alike.

/** A call `{id, function: {name, arguments}}` or `{id, custom: {name, input}}`; anything else is a call that fails. */
export const toChatCall = (item: unknown): AskedCall => {
  if (!isObject(item)) return { id: '', name: null, call: item };
  const id = member(item, 'id');
  const custom = member(item, 'custom');
  const inner = isObject(custom) ? custom : member(item, 'function');
  const name = member(inner, 'name');
  const call = isObject(custom)
    ? { id, name, arguments: member(inner, 'input'), written: 'freely' }
    : { id, name, arguments: member(inner, 'arguments') };
  return { id: toAskedId(id), name: toAskedName(name), call };
};

/** A call as it is written with its arguments as text. */
export const writeChatCall = (call: TurnCall) => ({
  id: call.id,
  type: 'function',
  function: { name: call.name, arguments: JSON.stringify(call.arguments) },
});

/** A call of a message in the spelling of a TypeScript client (`toolCalls`) or of an API (`tool_calls`). */
export type SpelledCall = AskedCall & { readonly spelling: 'camel' | 'snake' };

/**
 * The calls of a message in either spelling; null where it is none of the assistant's, or has calls in both: of a call
 * that stands there twice nobody knows whether it is one. A list is the client's.
 */
export const readSpelledCalls = (body: unknown): FoundCalls<SpelledCall> | null => {
  if (isArray(body)) return readSpelled(body, 'camel');
  if (!isObject(body)) return null;
  const camel = readSpelled(listOf(body, 'toolCalls'), 'camel');
  const snake = readSpelled(listOf(body, 'tool_calls'), 'snake');
  const isTurn = ['toolCalls', 'tool_calls'].some((key) => isArray(member(body, key)));
  if (!isTurn && member(body, 'role') !== 'assistant') return null;
  if (camel.entries.length > 0 && snake.entries.length > 0) return null;
  return camel.entries.length > 0 ? camel : snake;
};

const readSpelled = (items: readonly unknown[], spelling: SpelledCall['spelling']): FoundCalls<SpelledCall> =>
  foundIn(items, (item) => [{ ...toChatCall(item), spelling }]);

/** The id of a call as its answer names it. */
export const toSpelledId = ({ id, spelling }: SpelledCall) =>
  spelling === 'camel' ? { toolCallId: String(id) } : { tool_call_id: String(id) };

/** The answer that a tool message holds, in either spelling. It has no flag for failures. */
export const readToolMessage = (message: unknown): readonly ReadAnswer[] => {
  const text = member(message, 'content');
  if (member(message, 'role') !== 'tool' || typeof text !== 'string') return [];
  const id = toAskedId(member(message, 'toolCallId') ?? member(message, 'tool_call_id'));
  return [{ id, name: toAskedName(member(message, 'name')), success: !isFailureText(text), text }];
};
