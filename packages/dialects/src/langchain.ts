import { isArray, isRecord, type JsonRecord, listAt, memberOf } from 'recourse-server/contract/json-record';
import { parseJson } from 'recourse-server/json/parse-json';
import {
  type Answer,
  createBrokenCall,
  defineDialect,
  type FoundCalls,
  foundIn,
  LOST_ARGUMENTS,
  type ProviderCall,
  readProviderCall,
  withoutArguments,
  withoutCutOff,
} from './define-dialect.ts';

/** The fields of LangChain's ToolMessage. `type` is what Python reads, `role` what JavaScript coerces by. */
export type LangchainToolMessage = {
  readonly type: 'tool';
  readonly role: 'tool';
  readonly content: string;
  readonly tool_call_id: string;
  readonly name?: string;
  readonly status: 'success' | 'error';
};

const isLangchain = (body: JsonRecord): boolean => {
  const type = memberOf(body, 'type');
  if (type === 'constructor') return memberOf(body, 'lc') === 1 && isRecord(memberOf(body, 'kwargs'));
  if (type === 'ai' || type === 'AIMessageChunk') return Object.hasOwn(body, 'data') || Object.hasOwn(body, 'content');
  if (isArray(memberOf(body, 'invalid_tool_calls'))) return true;
  const calls = memberOf(body, 'tool_calls');
  return isArray(calls) && calls.some((call) => isRecord(call) && Object.hasOwn(call, 'args'));
};

/**
 * LangChain: an AIMessage as a plain object, stored (`{type: 'ai', data}`) or serialised (`{lc: 1, kwargs}`), or its
 * `tool_calls`. What the runtime could not parse (`invalid_tool_calls`) is answered too, after the others.
 */
export const langchain = defineDialect({
  format: 'langchain',
  marks: isLangchain,
  reads: ['langchain'],
  readCalls: (body) => {
    if (isArray(body)) return foundIn(body, (item) => [readCall(item)]);
    const fields = findFields(body);
    if (fields === null) return null;
    const parsed = listAt(fields, 'tool_calls');
    const broken = listAt(fields, 'invalid_tool_calls');
    const calls = withoutCutOff(readParsed(parsed, fields), memberOf(fields, 'response_metadata'))?.calls ?? [];
    return { entries: [...parsed, ...broken], calls: [...calls, ...broken.map(readInvalidCall)] };
  },
  writeAnswers: (answers) => answers.map(writeMessage),
});

const findFields = (body: unknown): unknown => {
  if (memberOf(body, 'lc') === 1 && isRecord(memberOf(body, 'kwargs'))) return memberOf(body, 'kwargs');
  const type = memberOf(body, 'type');
  if (type === 'ai' || type === 'AIMessageChunk')
    return isRecord(memberOf(body, 'data')) ? memberOf(body, 'data') : body;
  return isArray(memberOf(body, 'tool_calls')) || isArray(memberOf(body, 'invalid_tool_calls')) ? body : null;
};

// Of a call whose piece of JSON had no end, LangChain makes an object of what there was.
const readParsed = (parsed: readonly unknown[], fields: unknown): FoundCalls => {
  const cut = new Set<unknown>(
    listAt(fields, 'tool_call_chunks')
      .filter(isCutChunk)
      .map((chunk) => memberOf(chunk, 'id')),
  );
  const toWhole = (item: unknown) =>
    cut.has(memberOf(item, 'id')) ? withoutArguments(readCall(item)) : readCall(item);
  return { entries: parsed, calls: parsed.map(toWhole) };
};

const isCutChunk = (chunk: unknown): boolean => {
  const args = memberOf(chunk, 'args');
  return typeof args === 'string' && args.trim() !== '' && !parseJson(args).ok;
};

const readCall = (item: unknown): ProviderCall => {
  if (memberOf(item, 'type') === 'invalid_tool_call') return readInvalidCall(item);
  return isRecord(item)
    ? readProviderCall(memberOf(item, 'id'), memberOf(item, 'name'), memberOf(item, 'args'))
    : createBrokenCall(item);
};

const readInvalidCall = (item: unknown): ProviderCall => {
  if (!isRecord(item)) return createBrokenCall(item);
  const args = memberOf(item, 'args');
  const sent = typeof args === 'string' && args.trim() !== '' ? args : LOST_ARGUMENTS;
  return readProviderCall(memberOf(item, 'id'), memberOf(item, 'name'), sent);
};

const writeMessage = ({ call, failed, text }: Answer): LangchainToolMessage => ({
  type: 'tool',
  role: 'tool',
  content: text,
  tool_call_id: String(call.id),
  ...(call.name === null ? {} : { name: call.name }),
  status: failed ? 'error' : 'success',
});
