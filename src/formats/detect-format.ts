import type { MessageFormat } from '../contract/message-format.ts';
import { isArray, isObject, type JsonObject, member } from './json-access.ts';

/** Whether the body is the service's own envelope, whatever else is in it. */
export const isNative = (body: unknown): boolean => isObject(body) && Object.hasOwn(body, 'calls');

/**
 * The one provider's dialect that a body is unmistakably written in. One walk decides for all of them, so that no two
 * can claim the same body; null where the keys could be another's, or nobody's.
 */
export const detectFormat = (body: unknown): MessageFormat | null => {
  if (isArray(body)) return formatOfItems(body);
  if (!isObject(body) || isNative(body)) return null;
  for (const [format, marks] of BODY_MARKS) if (marks(body)) return format;
  return null;
};

/** The first item that is somebody's call decides: what stands around calls looks alike. */
const formatOfItems = (items: readonly unknown[]): MessageFormat | null => {
  for (const item of items) {
    const format = isObject(item) ? formatOfItem(item) : null;
    if (format !== null) return format;
  }
  return null;
};

const formatOfItem = (item: JsonObject): MessageFormat | null => {
  const type = member(item, 'type');
  if (type === 'tool_use') return 'anthropic';
  if (type === 'tool_call' || type === 'invalid_tool_call') return 'langchain';
  if (type === 'function_call' || type === 'custom_tool_call')
    return Object.hasOwn(item, 'call_id') ? 'openai-responses' : null;
  if (isChatCall(item, type)) return 'openai-chat';
  return type === undefined && isGeminiPart(item) ? 'gemini' : null;
};

// The description of a tool looks the same, but has neither an id nor arguments.
const isChatCall = (item: JsonObject, type: unknown): boolean => {
  const inner = member(item, type === 'custom' ? 'custom' : 'function');
  if (!isObject(inner) || (type !== 'custom' && type !== 'function' && type !== undefined)) return false;
  return Object.hasOwn(item, 'id') || Object.hasOwn(inner, 'arguments') || Object.hasOwn(inner, 'input');
};

// OpenAI's old `function_call` has `arguments`, Gemini's has `args`.
const isGeminiPart = (item: JsonObject): boolean => {
  if (isObject(member(item, 'functionCall'))) return true;
  const snake = member(item, 'function_call');
  return isObject(snake) && !Object.hasOwn(snake, 'arguments') && !Object.hasOwn(item, 'role');
};

const isVapi = (body: JsonObject): boolean => member(member(body, 'message'), 'type') === 'tool-calls';

const isLangchain = (body: JsonObject): boolean => {
  const type = member(body, 'type');
  if (type === 'constructor') return member(body, 'lc') === 1 && isObject(member(body, 'kwargs'));
  if (type === 'ai' || type === 'AIMessageChunk') return Object.hasOwn(body, 'data') || Object.hasOwn(body, 'content');
  if (isArray(member(body, 'invalid_tool_calls'))) return true;
  const calls = member(body, 'tool_calls');
  return isArray(calls) && calls.some((call) => isObject(call) && Object.hasOwn(call, 'args'));
};

const isChat = (body: JsonObject): boolean => {
  const calls = member(body, 'tool_calls');
  if (isArray(calls)) return true;
  if (Object.hasOwn(body, 'tool_calls') && member(body, 'role') === 'assistant') return true;
  const choices = member(body, 'choices');
  if (!isArray(choices)) return false;
  return member(body, 'object') === 'chat.completion' || choices.some((choice) => isObject(member(choice, 'message')));
};

const isResponses = (body: JsonObject): boolean => {
  const output = member(body, 'output');
  if (isArray(output) && (member(body, 'object') === 'response' || formatOfItems(output) === 'openai-responses'))
    return true;
  return formatOfItem(body) === 'openai-responses';
};

const isGemini = (body: JsonObject): boolean => {
  if (isArray(member(body, 'candidates')) || isArray(member(body, 'functionCalls'))) return true;
  const parts = member(body, 'parts');
  return isArray(parts) && (member(body, 'role') === 'model' || formatOfItems(parts) === 'gemini');
};

const isAnthropic = (body: JsonObject): boolean => {
  const role = member(body, 'role');
  const content = member(body, 'content');
  if (!isArray(content) || (role !== undefined && role !== 'assistant')) return false;
  if (member(body, 'type') === 'message' && role === 'assistant' && Object.hasOwn(body, 'stop_reason')) return true;
  return formatOfItems(content) === 'anthropic';
};

// Tried in this order. LangChain stands before the others: its messages carry the provider's own blocks inside.
const BODY_MARKS = [
  ['vapi', isVapi],
  ['langchain', isLangchain],
  ['openai-chat', isChat],
  ['openai-responses', isResponses],
  ['gemini', isGemini],
  ['anthropic', isAnthropic],
] as const;
