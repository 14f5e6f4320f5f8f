import type { MessageFormat } from 'recourse-server/contract/message-format';
import { isArray, isObject, type JsonObject, listOf, member } from 'recourse-server/json/json-access';

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
const camelFormatOf = (message: unknown): 'mistral' | 'cohere' | null => {
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
export const isNative = (body: unknown): boolean => isObject(body) && Object.hasOwn(body, 'calls');

/**
 * The one provider's dialect that a body is unmistakably written in. One walk decides for all of them, so that no two
 * can claim the same body; null where the keys could be another's, or nobody's, or calls of several formats are mixed.
 */
export const detectFormat = (body: unknown): MessageFormat | null => {
  if (isArray(body)) return formatOfList(body);
  if (!isObject(body) || isNative(body)) return null;
  for (const [format, marks] of BODY_MARKS) if (marks(body)) return format;
  return null;
};

const formatOfList = (items: readonly unknown[]): MessageFormat | null => {
  if (items.some((item) => isArray(member(item, 'candidates')))) return 'gemini';
  const last = items.at(-1);
  if (member(last, 'role') === 'assistant' && formatOfItems(listOf(last, 'content')) === 'ai-sdk') return 'ai-sdk';
  const format = formatOfItems(items);
  return format === 'openai-chat' && items.every(isOllamaCall) ? 'ollama' : format;
};

/** The format of all calls of a list: what stands around calls looks alike. */
const formatOfItems = (items: readonly unknown[]): MessageFormat | null => {
  const [format, ...more] = spellingsOf(items);
  return format === undefined || more.length > 0 ? null : format;
};

// OpenAI writes arguments as text, and gives each call a type.
const isOllamaCall = (call: unknown): boolean =>
  isObject(member(member(call, 'function'), 'arguments')) && member(call, 'type') === undefined;

const isVapi = (body: JsonObject): boolean => member(member(body, 'message'), 'type') === 'tool-calls';

const isLangchain = (body: JsonObject): boolean => {
  const type = member(body, 'type');
  if (type === 'constructor') return member(body, 'lc') === 1 && isObject(member(body, 'kwargs'));
  if (type === 'ai' || type === 'AIMessageChunk') return Object.hasOwn(body, 'data') || Object.hasOwn(body, 'content');
  if (isArray(member(body, 'invalid_tool_calls'))) return true;
  const calls = member(body, 'tool_calls');
  return isArray(calls) && calls.some((call) => isObject(call) && Object.hasOwn(call, 'args'));
};

/** A message of Mistral's client: `toolCalls`, with an index each; or its whole answer. */
const isMistral = (body: JsonObject): boolean => {
  const messages = [body, ...listOf(body, 'choices').map((choice) => member(choice, 'message'))];
  return messages.some(
    (message) => formatOfItems(listOf(message, 'toolCalls')) === 'openai-chat' && camelFormatOf(message) === 'mistral',
  );
};

const isCohere = (body: JsonObject): boolean => {
  const message = member(body, 'message');
  const reason = member(body, 'finishReason') ?? member(body, 'finish_reason');
  // A choice of OpenAI looks the same, but for the letters of its reason.
  if (member(message, 'role') === 'assistant' && typeof reason === 'string' && /^[A-Z_]+$/.test(reason)) return true;
  const calls = [...listOf(body, 'toolCalls'), ...listOf(body, 'tool_calls')];
  return (
    formatOfItems(calls) === 'openai-chat' && (Object.hasOwn(body, 'toolPlan') || Object.hasOwn(body, 'tool_plan'))
  );
};

const isOllama = (body: JsonObject): boolean => {
  const message = member(body, 'message');
  if (isObject(message) && member(message, 'role') === 'assistant' && typeof member(body, 'done') === 'boolean')
    return true;
  const calls = listOf(body, 'tool_calls');
  return formatOfItems(calls) === 'openai-chat' && calls.every(isOllamaCall);
};

const isChat = (body: JsonObject): boolean => {
  const calls = member(body, 'tool_calls');
  if (isArray(calls)) return true;
  if (Object.hasOwn(body, 'tool_calls') && member(body, 'role') === 'assistant') return true;
  if (Object.hasOwn(Object(member(body, 'function_call')), 'arguments')) return true;
  const choices = member(body, 'choices');
  if (!isArray(choices)) return false;
  return member(body, 'object') === 'chat.completion' || choices.some((choice) => isObject(member(choice, 'message')));
};

const isRealtime = (body: JsonObject): boolean => {
  if (member(body, 'type') === 'response.done') return isArray(member(member(body, 'response'), 'output'));
  if (member(body, 'object') === 'realtime.response') return isArray(member(body, 'output'));
  return spellingOf(body) === 'openai-realtime';
};

const isResponses = (body: JsonObject): boolean => {
  const output = member(body, 'output');
  if (isArray(output) && (member(body, 'object') === 'response' || formatOfItems(output) === 'openai-responses'))
    return true;
  return spellingOf(body) === 'openai-responses';
};

const isGemini = (body: JsonObject): boolean => {
  const holders = [body, member(body, 'toolCall')];
  if (isArray(member(body, 'candidates')) || holders.some((holder) => isArray(member(holder, 'functionCalls'))))
    return true;
  const parts = member(body, 'parts');
  return isArray(parts) && (member(body, 'role') === 'model' || formatOfItems(parts) === 'gemini');
};

const isBedrock = (body: JsonObject): boolean => {
  const message = member(member(body, 'output'), 'message');
  if (isArray(member(message, 'content')) && member(message, 'role') === 'assistant') return true;
  return isTurnOf(body, 'bedrock');
};

const isAiSdk = (body: JsonObject): boolean =>
  isTurnOf(body, 'ai-sdk') || formatOfItems(listOf(body, 'toolCalls')) === 'ai-sdk' || isToolCallPart(body);

const isToolCallPart = (body: JsonObject): boolean =>
  member(body, 'type') === 'tool-call' && spellingOf(body) === 'ai-sdk';

const isAnthropic = (body: JsonObject): boolean => {
  const isMessage = member(body, 'type') === 'message' && member(body, 'role') === 'assistant';
  if (isMessage && isArray(member(body, 'content')) && Object.hasOwn(body, 'stop_reason')) return true;
  return isTurnOf(body, 'anthropic');
};

/** Whether the content of a message of the assistant holds calls of that format. */
const isTurnOf = (body: JsonObject, format: MessageFormat): boolean => {
  const role = member(body, 'role');
  return (role === undefined || role === 'assistant') && formatOfItems(listOf(body, 'content')) === format;
};

// Tried in this order. LangChain stands before the others: its messages carry the provider's own blocks inside. Those that
// write calls as OpenAI does stand before it, for they are told by what they add.
const BODY_MARKS = [
  ['vapi', isVapi],
  ['langchain', isLangchain],
  ['mistral', isMistral],
  ['cohere', isCohere],
  ['ollama', isOllama],
  ['openai-chat', isChat],
  ['openai-realtime', isRealtime],
  ['openai-responses', isResponses],
  ['gemini', isGemini],
  ['bedrock', isBedrock],
  ['ai-sdk', isAiSdk],
  ['anthropic', isAnthropic],
] as const;
