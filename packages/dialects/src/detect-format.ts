import { isArray, isRecord, type JsonRecord, listAt, memberOf } from 'recourse-server/contract/json-record';
import type { MessageFormat } from 'recourse-server/contract/message-format';

/**
 * The format that one entry of a list is a call of, by the entry alone; null for what is no call, is run by the provider
 * itself, or could be a call of several formats. OpenAI's chat format stands for all that write a call like it.
 */
export const formatOfCall = (item: unknown): MessageFormat | null => {
  if (!isRecord(item)) return null;
  const type = memberOf(item, 'type');
  const byType = typeof type === 'string' ? BY_TYPE.get(type) : undefined;
  if (byType !== undefined) return byType(item);
  if (isChatCall(item, type)) return 'openai-chat';
  if (isRecord(memberOf(item, 'toolUse')))
    return memberOf(memberOf(item, 'toolUse'), 'type') === undefined ? 'bedrock' : null;
  if (isPartOfScreen(item, type)) return 'ai-sdk';
  return type === undefined && isGeminiPart(item) ? 'gemini' : null;
};

const toResponses = (item: JsonRecord): MessageFormat | null => {
  if (!Object.hasOwn(item, 'call_id')) return null;
  return memberOf(item, 'object') === 'realtime.item' ? 'openai-realtime' : 'openai-responses';
};

const toAiSdk = (item: JsonRecord): MessageFormat | null => {
  const inner = isRecord(memberOf(item, 'payload')) ? memberOf(item, 'payload') : item;
  if (memberOf(inner, 'providerExecuted') === true) return null;
  return typeof memberOf(inner, 'toolName') === 'string' || typeof memberOf(inner, 'toolCallId') === 'string'
    ? 'ai-sdk'
    : null;
};

const BY_TYPE: ReadonlyMap<string, (item: JsonRecord) => MessageFormat | null> = new Map([
  ['tool_use', () => 'anthropic' as const],
  ['tool_call', () => 'langchain' as const],
  ['invalid_tool_call', () => 'langchain' as const],
  ['function_call', toResponses],
  ['custom_tool_call', toResponses],
  ['tool-call', toAiSdk],
]);

// The description of a tool looks the same, but has neither an id nor arguments.
const isChatCall = (item: JsonRecord, type: unknown): boolean => {
  const inner = memberOf(item, type === 'custom' ? 'custom' : 'function');
  if (!isRecord(inner) || (type !== 'custom' && type !== 'function' && type !== undefined)) return false;
  return Object.hasOwn(item, 'id') || Object.hasOwn(inner, 'arguments') || Object.hasOwn(inner, 'input');
};

// A part of the AI SDK's messages for the screen (UIMessage) that waits for its tool.
const isPartOfScreen = (item: JsonRecord, type: unknown): boolean =>
  typeof type === 'string' &&
  (type === 'dynamic-tool' || type.startsWith('tool-')) &&
  typeof memberOf(item, 'toolCallId') === 'string' &&
  memberOf(item, 'state') === 'input-available' &&
  memberOf(item, 'providerExecuted') !== true;

// OpenAI's old `function_call` has `arguments`, Gemini's has `args`.
const isGeminiPart = (item: JsonRecord): boolean => {
  if (isRecord(memberOf(item, 'functionCall'))) return true;
  const snake = memberOf(item, 'function_call');
  return isRecord(snake) && !Object.hasOwn(snake, 'arguments') && !Object.hasOwn(item, 'role');
};

/** The formats that entries of a list are calls of, each once, in the order in which they come. */
export const formatsOfCalls = (items: readonly unknown[]): readonly MessageFormat[] => {
  const found = new Set<MessageFormat>();
  for (const item of items) {
    const format = formatOfCall(item);
    if (format !== null) found.add(format);
  }
  return [...found];
};

/** Whether a message of `toolCalls` is Mistral's, Cohere's, or could be either's. */
export const camelFormatOf = (message: unknown): 'mistral' | 'cohere' | null => {
  if (Object.hasOwn(Object(message), 'toolPlan')) return 'cohere';
  const isMistral =
    Object.hasOwn(Object(message), 'prefix') ||
    listAt(message, 'toolCalls').some((call) => memberOf(call, 'index') !== undefined);
  return isMistral ? 'mistral' : null;
};

/**
 * The format of what no dialect reads as it stands, but is a call all the same: the event of a stream, or a call without
 * the marks of its format. What has a type of its own may be run by the provider.
 */
const formatOfLooseCall = (item: unknown): MessageFormat | null => {
  if (isRecord(memberOf(item, 'functionCall'))) return 'gemini';
  const type = memberOf(item, 'type');
  if (type === 'tool-input-available') return memberOf(item, 'providerExecuted') === true ? null : 'ai-sdk';
  const isNamed = isRecord(item) && typeof memberOf(item, 'name') === 'string';
  return isNamed && (type === undefined || LOOSE_TYPES.has(type)) ? formatOfArguments(item, type) : null;
};

const formatOfArguments = (item: JsonRecord, type: unknown): MessageFormat | null => {
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
  entries.flatMap((entry) => toList(formatOfCall(entry) ?? formatOfLooseCall(entry)));

const MAX_DEPTH = 6;

/**
 * The formats whose calls a body holds wherever any of the formats has them, each once. It looks where no dialect would:
 * into the pieces of a stream, and into the messages of a conversation.
 */
export const formatsIn = (body: unknown): readonly MessageFormat[] => {
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
  if (isRecord(value)) collectFromObject(value, found, depth);
};

const collectFromObject = (value: JsonRecord, found: Set<MessageFormat>, depth: number): void => {
  addAll(toList(formatOfCall(value)), found);
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
  return key === 'function_call' && isRecord(value) && Object.hasOwn(value, 'arguments') ? ['openai-chat'] : NO_FORMATS;
};

const NO_FORMATS: readonly MessageFormat[] = [];

const addAll = (formats: readonly MessageFormat[], found: Set<MessageFormat>): void => {
  for (const format of formats) found.add(format);
};

const toList = (format: MessageFormat | null): readonly MessageFormat[] => (format === null ? [] : [format]);

/** The formats that the entries of a list of a message are calls of. */
type ReadList = (entries: readonly unknown[], message: unknown) => readonly MessageFormat[];

const readCamel: ReadList = (entries, message) =>
  formatsOfCalls(entries).flatMap((format) => {
    if (format !== 'openai-chat') return [format];
    const camel = camelFormatOf(message);
    return camel === null ? ['mistral', 'cohere'] : [camel];
  });

// LangChain's calls need no type.
const readCalls: ReadList = (entries) => [
  ...formatsOfCalls(entries),
  ...(entries.some((entry) => Object.hasOwn(Object(entry), 'args')) ? ['langchain' as const] : []),
];

const readFunctionCalls: ReadList = (entries) => (entries.some(isRecord) ? ['gemini'] : []);

// Where the formats that are known keep their calls, and what stands around a message, or holds several.
const LISTS: ReadonlyMap<string, ReadList> = new Map([
  ...['invalid_tool_calls', 'content', 'parts', 'output', 'toolCallList'].map((key) => [key, readLoosely] as const),
  ['tool_call_chunks', readCalls],
  ['tool_calls', readCalls],
  ['toolCalls', readCamel],
  ['functionCalls', readFunctionCalls],
]);
const AROUND: ReadonlySet<string> = new Set([
  ...['message', 'delta', 'output', 'response', 'content', 'data', 'kwargs', 'item', 'content_block'],
  ...['contentBlockStart', 'start', 'additional_kwargs', 'toolCall'],
]);
const MESSAGES: ReadonlySet<string> = new Set([
  'choices',
  'candidates',
  'messages',
  'contents',
  'toolWithToolCallList',
]);

/** Whether the body is the service's own envelope, whatever else is in it. */
export const isNative = (body: unknown): boolean => isRecord(body) && Object.hasOwn(body, 'calls');

/**
 * The format of a bare list of calls, parts or messages; null where it holds none, or calls of several formats.
 */
export const formatOfList = (items: readonly unknown[]): MessageFormat | null => {
  if (items.some((item) => isArray(memberOf(item, 'candidates')))) return 'gemini';
  const last = items.at(-1);
  if (memberOf(last, 'role') === 'assistant' && formatOfItems(listAt(last, 'content')) === 'ai-sdk') return 'ai-sdk';
  const format = formatOfItems(items);
  return format === 'openai-chat' && items.every(isOllamaCall) ? 'ollama' : format;
};

/** The format of all calls of a list: what stands around calls looks alike. */
export const formatOfItems = (items: readonly unknown[]): MessageFormat | null => {
  const [format, ...more] = formatsOfCalls(items);
  return format === undefined || more.length > 0 ? null : format;
};

// OpenAI writes arguments as text, and gives each call a type.
export const isOllamaCall = (call: unknown): boolean =>
  isRecord(memberOf(memberOf(call, 'function'), 'arguments')) && memberOf(call, 'type') === undefined;

/** Whether the content of a message of the assistant holds calls of that format. */
export const isMessageOf = (body: JsonRecord, format: MessageFormat): boolean => {
  const role = memberOf(body, 'role');
  return (role === undefined || role === 'assistant') && formatOfItems(listAt(body, 'content')) === format;
};
