import { isArray, isRecord, type JsonRecord, listAt, memberOf } from 'recourse-server/contract/json-record';
import {
  type Answer,
  createBrokenCall,
  defineDialect,
  type FoundCalls,
  foundIn,
  NO_CALLS,
  type ProviderCall,
  readProviderCall,
  withoutCutOff,
} from './define-dialect.ts';
import { camelFormatOf, formatOfItems, isOllamaCall } from './detect-format.ts';

// OpenAI's chat completions, and the providers that write calls like them: Mistral, Cohere and Ollama. None of their answers
// has a flag for failures.

/** OpenAI's message for one answer: ChatCompletionToolMessageParam. */
export type ChatToolMessage = { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

/** The answer to the `function_call` of old: ChatCompletionFunctionMessageParam. */
export type ChatFunctionMessage = { readonly role: 'function'; readonly name: string; readonly content: string };

// OpenAI refuses an answer without a name, and Ollama matches it by its name.
const UNNAMED = 'unknown';

/** A call `{id, function: {name, arguments}}` or `{id, custom: {name, input}}`; anything else is a call that fails. */
const readChatCall = (item: unknown): ProviderCall => {
  if (!isRecord(item)) return createBrokenCall(item);
  const id = memberOf(item, 'id');
  const custom = memberOf(item, 'custom');
  if (isRecord(custom)) return readProviderCall(id, memberOf(custom, 'name'), memberOf(custom, 'input'), 'freely');
  const inner = memberOf(item, 'function');
  return readProviderCall(id, memberOf(inner, 'name'), memberOf(inner, 'arguments'));
};

/** The calls of the first choice of a completion that has any. */
const readChoices = <Call extends ProviderCall>(
  choices: readonly unknown[],
  readMessage: (message: unknown) => FoundCalls<Call> | null,
): FoundCalls<Call> =>
  choices
    .flatMap((choice) => withoutCutOff(readMessage(memberOf(choice, 'message')), choice) ?? [])
    .find(({ calls }) => calls.length > 0) ?? NO_CALLS;

/** `function`: the one `function_call` that a message could have before there were `tool_calls`. */
type ChatCall = ProviderCall & { readonly kind: 'tool' | 'function' };

const isChat = (body: JsonRecord): boolean => {
  const calls = memberOf(body, 'tool_calls');
  if (isArray(calls)) return true;
  if (Object.hasOwn(body, 'tool_calls') && memberOf(body, 'role') === 'assistant') return true;
  if (Object.hasOwn(Object(memberOf(body, 'function_call')), 'arguments')) return true;
  const choices = memberOf(body, 'choices');
  if (!isArray(choices)) return false;
  return (
    memberOf(body, 'object') === 'chat.completion' || choices.some((choice) => isRecord(memberOf(choice, 'message')))
  );
};

/**
 * OpenAI chat completions: a `tool_calls` array, an assistant message, or a whole completion, of whose choices the
 * first with calls is taken. The `function_call` of old is answered as such.
 */
export const openaiChat = defineDialect<ChatCall>({
  format: 'openai-chat',
  marks: isChat,
  reads: ['openai-chat'],
  readCalls: (body) => {
    if (isArray(body)) return { entries: body, calls: body.map(readToolCall) };
    if (!isRecord(body)) return null;
    const choices = memberOf(body, 'choices');
    return isArray(choices) ? readChoices(choices, readChatMessage) : readChatMessage(body);
  },
  writeAnswers: (answers) =>
    answers.map(({ call, text }): ChatToolMessage | ChatFunctionMessage =>
      call.kind === 'tool'
        ? { role: 'tool', tool_call_id: String(call.id), content: text }
        : { role: 'function', name: call.name ?? UNNAMED, content: text },
    ),
});

const readChatMessage = (message: unknown): FoundCalls<ChatCall> | null => {
  const entries = listAt(message, 'tool_calls');
  const single = memberOf(message, 'function_call');
  // Beside a list it is a copy, and would run twice.
  const calls = entries.length === 0 && isRecord(single) ? [readFunctionCall(single)] : entries.map(readToolCall);
  const isMessage =
    isArray(memberOf(message, 'tool_calls')) || memberOf(message, 'role') === 'assistant' || isRecord(single);
  return isMessage ? { entries, calls } : null;
};

const readToolCall = (item: unknown): ChatCall => ({ ...readChatCall(item), kind: 'tool' });

const readFunctionCall = (call: object): ChatCall => ({
  ...readProviderCall(undefined, memberOf(call, 'name'), memberOf(call, 'arguments')),
  kind: 'function',
});

/** A call of a message in the casing of a TypeScript client (`toolCalls`) or of an API (`tool_calls`). */
type CasedCall = ProviderCall & { readonly casing: 'camel' | 'snake' };

/**
 * The calls of a message in either casing; null where it is none of the assistant's, or has calls in both: of a call
 * that stands there twice nobody knows whether it is one. A list is the client's.
 */
const readCasedCalls = (body: unknown): FoundCalls<CasedCall> | null => {
  if (isArray(body)) return readCased(body, 'camel');
  if (!isRecord(body)) return null;
  const camel = readCased(listAt(body, 'toolCalls'), 'camel');
  const snake = readCased(listAt(body, 'tool_calls'), 'snake');
  const isTurn = ['toolCalls', 'tool_calls'].some((key) => isArray(memberOf(body, key)));
  if (!isTurn && memberOf(body, 'role') !== 'assistant') return null;
  if (camel.entries.length > 0 && snake.entries.length > 0) return null;
  return camel.entries.length > 0 ? camel : snake;
};

const readCased = (items: readonly unknown[], casing: CasedCall['casing']): FoundCalls<CasedCall> =>
  foundIn(items, (item) => [{ ...readChatCall(item), casing }]);

/** The id of a call as its answer names it. */
const writeId = ({ id, casing }: CasedCall) =>
  casing === 'camel' ? { toolCallId: String(id) } : { tool_call_id: String(id) };

type CasedId = ReturnType<typeof writeId>;

/** Mistral's ToolMessage, as its TypeScript client has it or as its API. */
export type MistralToolMessage = {
  readonly role: 'tool';
  readonly name?: string;
  readonly content: string;
} & CasedId;

/** A message of Mistral's client: `toolCalls`, with an index each; or its whole answer. */
const isMistral = (body: JsonRecord): boolean => {
  const messages = [body, ...listAt(body, 'choices').map((choice) => memberOf(choice, 'message'))];
  return messages.some(
    (message) => formatOfItems(listAt(message, 'toolCalls')) === 'openai-chat' && camelFormatOf(message) === 'mistral',
  );
};

/**
 * Mistral: a message, the whole answer, of whose choices the first with calls is taken, or the calls alone. Answered in the
 * casing of the calls; calls alone are answered as the TypeScript client has it.
 */
export const mistral = defineDialect<CasedCall>({
  format: 'mistral',
  marks: isMistral,
  reads: ['openai-chat'],
  readCalls: (body) => {
    const choices = memberOf(body, 'choices');
    return isArray(choices) ? readChoices(choices, readCasedCalls) : readCasedCalls(body);
  },
  writeAnswers: (answers) =>
    answers.map(
      ({ call, text }): MistralToolMessage => ({
        role: 'tool',
        ...writeId(call),
        ...(call.name === null ? {} : { name: call.name }),
        content: text,
      }),
    ),
});

// The message of a whole answer, or the body where it is a message itself.
const messageOf = (body: unknown): unknown => {
  const message = memberOf(body, 'message');
  return isRecord(message) ? message : body;
};

/** Cohere's ToolChatMessageV2, as its TypeScript client has it or as its API. */
export type CohereToolMessage = { readonly role: 'tool'; readonly content: string } & CasedId;

const isCohere = (body: JsonRecord): boolean => {
  const message = memberOf(body, 'message');
  const reason = memberOf(body, 'finishReason') ?? memberOf(body, 'finish_reason');
  // A choice of OpenAI looks the same, but for the letters of its reason.
  if (memberOf(message, 'role') === 'assistant' && typeof reason === 'string' && /^[A-Z_]+$/.test(reason)) return true;
  const calls = [...listAt(body, 'toolCalls'), ...listAt(body, 'tool_calls')];
  return (
    formatOfItems(calls) === 'openai-chat' && (Object.hasOwn(body, 'toolPlan') || Object.hasOwn(body, 'tool_plan'))
  );
};

/**
 * Cohere, version 2 of its chat: a message, the whole answer, or the calls alone. Answered in the casing of the calls;
 * calls alone are answered as the TypeScript client has it.
 */
export const cohere = defineDialect<CasedCall>({
  format: 'cohere',
  marks: isCohere,
  reads: ['openai-chat'],
  readCalls: (body) => withoutCutOff(readCasedCalls(messageOf(body)), body),
  writeAnswers: (answers) =>
    answers.map(({ call, text }): CohereToolMessage => ({ role: 'tool', ...writeId(call), content: text })),
});

/** Ollama's message for one answer. Older servers know the name alone; the id stands where the call had one. */
export type OllamaToolMessage = {
  readonly role: 'tool';
  readonly content: string;
  readonly tool_name: string;
  readonly tool_call_id?: string;
};

const isOllama = (body: JsonRecord): boolean => {
  const message = memberOf(body, 'message');
  if (isRecord(message) && memberOf(message, 'role') === 'assistant' && typeof memberOf(body, 'done') === 'boolean')
    return true;
  const calls = listAt(body, 'tool_calls');
  return formatOfItems(calls) === 'openai-chat' && calls.every(isOllamaCall);
};

/** Ollama: the whole answer of `/api/chat`, its message, or the calls alone. */
export const ollama = defineDialect({
  format: 'ollama',
  marks: isOllama,
  reads: ['openai-chat'],
  readCalls: (body) => withoutCutOff(readOllamaMessage(messageOf(body)), body),
  writeAnswers: (answers) => answers.map(writeOllamaMessage),
});

const readOllamaMessage = (body: unknown): FoundCalls | null => {
  const calls = isArray(body) ? body : memberOf(body, 'tool_calls');
  if (isArray(calls)) return foundIn(calls, (item) => [readChatCall(item)]);
  return memberOf(body, 'role') === 'assistant' ? NO_CALLS : null;
};

const writeOllamaMessage = ({ call: { id, name }, text }: Answer): OllamaToolMessage => ({
  role: 'tool',
  content: text,
  tool_name: name ?? UNNAMED,
  ...(id === '' ? {} : { tool_call_id: String(id) }),
});
