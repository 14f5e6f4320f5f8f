import type { MessageFormat } from '../contract/message-format.ts';
import { isArray, isObject, type JsonObject, listOf, member } from './json-access.ts';
import { camelFormatOf, spellingOf, spellingsOf } from './spelling.ts';

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
  if (isArray(member(body, 'candidates')) || isArray(member(body, 'functionCalls'))) return true;
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
