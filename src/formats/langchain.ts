import { parseJson } from '../json/parse-json.ts';
import { LOST_ARGUMENTS, withoutArguments, withoutCutOff } from './cut-off.ts';
import { type Answer, type AskedCall, defineDialect, type FoundCalls, foundIn } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { isArray, isObject, listOf, member, toAskedId, toAskedName } from './json-access.ts';

/** The fields of LangChain's ToolMessage. `type` is what Python reads, `role` what JavaScript coerces by. */
export type LangchainToolMessage = {
  readonly type: 'tool';
  readonly role: 'tool';
  readonly content: string;
  readonly tool_call_id: string;
  readonly name?: string;
  readonly status: 'success' | 'error';
};

/**
 * LangChain: an AIMessage as a plain object, stored (`{type: 'ai', data}`) or serialised (`{lc: 1, kwargs}`), or its
 * `tool_calls`. What the runtime could not parse (`invalid_tool_calls`) is answered too, after the others.
 */
export const langchain = defineDialect({
  format: 'langchain',
  spellings: ['langchain'],
  readCalls: (body) => {
    if (isArray(body)) return foundIn(body, (item) => [toAsked(item)]);
    const fields = findFields(body);
    if (fields === null) return null;
    const parsed = listOf(fields, 'tool_calls');
    const broken = listOf(fields, 'invalid_tool_calls');
    const whole = withoutCutOff(readParsed(parsed, fields), member(fields, 'response_metadata'));
    return { entries: [...parsed, ...broken], calls: [...whole.calls, ...broken.map(toAskedInvalid)] };
  },
  writeAnswers: (answers) => answers.map(toMessage),
  writeTurn: (calls) => ({
    type: 'ai',
    content: '',
    tool_calls: calls.map((call) => ({ name: call.name, args: call.arguments, id: call.id, type: 'tool_call' })),
    invalid_tool_calls: [],
  }),
  readMessage: (message) => toReadAnswer(message),
});

const findFields = (body: unknown): unknown => {
  if (member(body, 'lc') === 1 && isObject(member(body, 'kwargs'))) return member(body, 'kwargs');
  const type = member(body, 'type');
  if (type === 'ai' || type === 'AIMessageChunk') return isObject(member(body, 'data')) ? member(body, 'data') : body;
  return isArray(member(body, 'tool_calls')) || isArray(member(body, 'invalid_tool_calls')) ? body : null;
};

// Of a call whose piece of JSON had no end, LangChain makes an object of what there was.
const readParsed = (parsed: readonly unknown[], fields: unknown): FoundCalls<AskedCall> => {
  const cut = new Set<unknown>(
    listOf(fields, 'tool_call_chunks')
      .filter(isCutChunk)
      .map((chunk) => member(chunk, 'id')),
  );
  const toWhole = (item: unknown) => (cut.has(member(item, 'id')) ? withoutArguments(toAsked(item)) : toAsked(item));
  return { entries: parsed, calls: parsed.map(toWhole) };
};

const isCutChunk = (chunk: unknown): boolean => {
  const given = member(chunk, 'args');
  return typeof given === 'string' && given.trim() !== '' && !parseJson(given).ok;
};

const toAsked = (item: unknown): AskedCall => {
  if (member(item, 'type') === 'invalid_tool_call') return toAskedInvalid(item);
  return isObject(item) ? toAskedCall(item, member(item, 'args')) : { id: '', name: null, call: item };
};

const toAskedInvalid = (item: unknown): AskedCall => {
  if (!isObject(item)) return { id: '', name: null, call: item };
  const given = member(item, 'args');
  return toAskedCall(item, typeof given === 'string' && given.trim() !== '' ? given : LOST_ARGUMENTS);
};

const toAskedCall = (item: object, given: unknown): AskedCall => {
  const id = member(item, 'id');
  const name = member(item, 'name');
  return { id: toAskedId(id), name: toAskedName(name), call: { id, name, arguments: given } };
};

const toMessage = ({ asked, success, text }: Answer): LangchainToolMessage => ({
  type: 'tool',
  role: 'tool',
  content: text,
  tool_call_id: String(asked.id),
  ...(asked.name === null ? {} : { name: asked.name }),
  status: success ? 'success' : 'error',
});

const toReadAnswer = (message: unknown): readonly ReadAnswer[] => {
  const text = member(message, 'content');
  if (member(message, 'type') !== 'tool' || typeof text !== 'string') return [];
  const id = toAskedId(member(message, 'tool_call_id'));
  const name = toAskedName(member(message, 'name'));
  return [{ id, name, success: member(message, 'status') !== 'error', text }];
};
