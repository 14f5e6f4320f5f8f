import type { MessageFormat } from '../contract/message-format.ts';
import { isArray, isObject, type JsonObject, listOf, member } from './json-access.ts';

/**
 * The format that one entry of a list is a call of, by the entry alone; null for what is no call, is run by the provider
 * itself, or could be a call of several formats. OpenAI's chat format stands for all that write a call like it.
 */
export const spellingOf = (item: unknown): MessageFormat | null => {
  if (!isObject(item)) return null;
  const type = member(item, 'type');
  const byType = typeof type === 'string' ? BY_TYPE.get(type) : undefined;
  if (byType !== undefined) return byType(item);
  if (isChatCall(item, type)) return 'openai-chat';
  if (isObject(member(item, 'toolUse')))
    return member(member(item, 'toolUse'), 'type') === undefined ? 'bedrock' : null;
  if (isPartOfScreen(item, type)) return 'ai-sdk';
  return type === undefined && isGeminiPart(item) ? 'gemini' : null;
};

const toResponses = (item: JsonObject): MessageFormat | null => {
  if (!Object.hasOwn(item, 'call_id')) return null;
  return member(item, 'object') === 'realtime.item' ? 'openai-realtime' : 'openai-responses';
};

const toAiSdk = (item: JsonObject): MessageFormat | null => {
  const inner = isObject(member(item, 'payload')) ? member(item, 'payload') : item;
  if (member(inner, 'providerExecuted') === true) return null;
  return typeof member(inner, 'toolName') === 'string' || typeof member(inner, 'toolCallId') === 'string'
    ? 'ai-sdk'
    : null;
};

const BY_TYPE: ReadonlyMap<string, (item: JsonObject) => MessageFormat | null> = new Map([
  ['tool_use', () => 'anthropic' as const],
  ['tool_call', () => 'langchain' as const],
  ['invalid_tool_call', () => 'langchain' as const],
  ['function_call', toResponses],
  ['custom_tool_call', toResponses],
  ['tool-call', toAiSdk],
]);

// The description of a tool looks the same, but has neither an id nor arguments.
const isChatCall = (item: JsonObject, type: unknown): boolean => {
  const inner = member(item, type === 'custom' ? 'custom' : 'function');
  if (!isObject(inner) || (type !== 'custom' && type !== 'function' && type !== undefined)) return false;
  return Object.hasOwn(item, 'id') || Object.hasOwn(inner, 'arguments') || Object.hasOwn(inner, 'input');
};

// A part of the AI SDK's messages for the screen (UIMessage) that waits for its tool.
const isPartOfScreen = (item: JsonObject, type: unknown): boolean =>
  typeof type === 'string' &&
  (type === 'dynamic-tool' || type.startsWith('tool-')) &&
  typeof member(item, 'toolCallId') === 'string' &&
  member(item, 'state') === 'input-available' &&
  member(item, 'providerExecuted') !== true;

// OpenAI's old `function_call` has `arguments`, Gemini's has `args`.
const isGeminiPart = (item: JsonObject): boolean => {
  if (isObject(member(item, 'functionCall'))) return true;
  const snake = member(item, 'function_call');
  return isObject(snake) && !Object.hasOwn(snake, 'arguments') && !Object.hasOwn(item, 'role');
};

/** The formats that entries of a list are calls of, each once, in the order in which they come. */
export const spellingsOf = (items: readonly unknown[]): readonly MessageFormat[] => {
  const found = new Set<MessageFormat>();
  for (const item of items) {
    const format = spellingOf(item);
    if (format !== null) found.add(format);
  }
  return [...found];
};

/** Whether a message of `toolCalls` is Mistral's, Cohere's, or could be either's. */
export const camelFormatOf = (message: unknown): 'mistral' | 'cohere' | null => {
  if (Object.hasOwn(Object(message), 'toolPlan')) return 'cohere';
  const isMistral =
    Object.hasOwn(Object(message), 'prefix') ||
    listOf(message, 'toolCalls').some((call) => member(call, 'index') !== undefined);
  return isMistral ? 'mistral' : null;
};

/**
 * The format of what no dialect reads as it stands, but is a call all the same: the event of a stream, or a call without
 * the marks of its format. What has a type of its own may be run by the provider.
 */
const looseSpellingOf = (item: unknown): MessageFormat | null => {
  if (isObject(member(item, 'functionCall'))) return 'gemini';
  const type = member(item, 'type');
  if (type === 'tool-input-available') return member(item, 'providerExecuted') === true ? null : 'ai-sdk';
  const isNamed = isObject(item) && typeof member(item, 'name') === 'string';
  return isNamed && (type === undefined || LOOSE_TYPES.has(type)) ? formatOfArguments(item, type) : null;
};

const formatOfArguments = (item: JsonObject, type: unknown): MessageFormat | null => {
  if (Object.hasOwn(item, 'args')) return 'langchain';
  if (Object.hasOwn(item, 'input')) return 'anthropic';
  if (!Object.hasOwn(item, 'arguments')) return null;
  if (type === 'response.function_call_arguments.done') return 'openai-realtime';
  return type === 'function_call' ? 'openai-responses' : 'text';
};

const LOOSE_TYPES: ReadonlySet<unknown> = new Set([
  'function',
  'function_call',
  'response.function_call_arguments.done',
]);

const readLoosely = (entries: readonly unknown[]): readonly MessageFormat[] =>
  entries.flatMap((entry) => toList(spellingOf(entry) ?? looseSpellingOf(entry)));

const MAX_DEPTH = 6;

/**
 * The formats whose calls a body holds wherever any of the formats has them, each once. It looks where no dialect would:
 * into the pieces of a stream, and into the messages of a conversation.
 */
export const spellingsIn = (body: unknown): readonly MessageFormat[] => {
  const found = new Set<MessageFormat>();
  collect(body, found, 0);
  return [...found];
};

const collect = (value: unknown, found: Set<MessageFormat>, depth: number): void => {
  if (depth > MAX_DEPTH) return;
  if (isArray(value)) {
    addAll(readLoosely(value), found);
    for (const item of value) collect(item, found, depth + 1);
  }
  if (isObject(value)) collectFromObject(value, found, depth);
};

const collectFromObject = (value: JsonObject, found: Set<MessageFormat>, depth: number): void => {
  addAll(toList(spellingOf(value)), found);
  for (const [key, inner] of Object.entries(value)) {
    addAll(readMember(key, inner, value), found);
    if (isArray(inner) ? MESSAGES.has(key) : AROUND.has(key)) collect(inner, found, depth + 1);
  }
};

const readMember = (key: string, value: unknown, message: unknown): readonly MessageFormat[] => {
  if (isArray(value)) return LISTS.get(key)?.(value, message) ?? NO_FORMATS;
  // Calls that are no list are read by none.
  if (value !== null && key === 'tool_calls') return ['openai-chat'];
  if (value !== null && key === 'toolCalls') return ['mistral', 'cohere'];
  return key === 'function_call' && isObject(value) && Object.hasOwn(value, 'arguments') ? ['openai-chat'] : NO_FORMATS;
};

const NO_FORMATS: readonly MessageFormat[] = [];

const addAll = (formats: readonly MessageFormat[], found: Set<MessageFormat>): void => {
  for (const format of formats) found.add(format);
};

const toList = (format: MessageFormat | null): readonly MessageFormat[] => (format === null ? [] : [format]);

/** The formats that the entries of a list of a message are calls of. */
type ReadList = (entries: readonly unknown[], message: unknown) => readonly MessageFormat[];

const readCamel: ReadList = (entries, message) =>
  spellingsOf(entries).flatMap((format) => {
    if (format !== 'openai-chat') return [format];
    const camel = camelFormatOf(message);
    return camel === null ? ['mistral', 'cohere'] : [camel];
  });

// LangChain's calls need no type.
const readCalls: ReadList = (entries) => [
  ...spellingsOf(entries),
  ...(entries.some((entry) => Object.hasOwn(Object(entry), 'args')) ? ['langchain' as const] : []),
];

const readFunctionCalls: ReadList = (entries) => (entries.some(isObject) ? ['gemini'] : []);

// Where the formats that are known keep their calls, and what stands around a message, or holds several.
const LISTS: ReadonlyMap<string, ReadList> = new Map([
  ...['invalid_tool_calls', 'content', 'parts', 'output', 'toolCallList'].map((key) => [key, readLoosely] as const),
  ['tool_call_chunks', readCalls],
  ['tool_calls', readCalls],
  ['toolCalls', readCamel],
  ['functionCalls', readFunctionCalls],
]);
const AROUND: ReadonlySet<string> = new Set([
  'message',
  'delta',
  'output',
  'response',
  'content',
  'data',
  'kwargs',
  'item',
  'content_block',
  'contentBlockStart',
  'start',
  'additional_kwargs',
  'toolCall',
]);
const MESSAGES: ReadonlySet<string> = new Set([
  'choices',
  'candidates',
  'messages',
  'contents',
  'toolWithToolCallList',
]);
