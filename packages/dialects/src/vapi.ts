import { isArray, isObject, member } from 'recourse-server/json/json-access';
import {
  type Answer,
  defineDialect,
  foundIn,
  type ProviderCall,
  toBrokenCall,
  toProviderCall,
} from './define-dialect.ts';

/** Vapi's ToolCallResult: `result` or `error`, each on one line, for it reads no more. */
export type ToolCallResult = { readonly toolCallId: string; readonly name?: string } & (
  | { readonly result: string }
  | { readonly error: string }
);

/**
 * Vapi: the `tool-calls` server message (docs.vapi.ai/tools/custom-tools), with the calls flat or as OpenAI writes them.
 * The raw answer is what the webhook must return.
 */
export const vapi = defineDialect({
  format: 'vapi',
  spellings: ['openai-chat'],
  readCalls: (body) => {
    const list = findToolCallList(body);
    return list === null ? null : foundIn(list, (item) => [toCall(item)]);
  },
  writeAnswers: (answers) => answers.map(toResult),
  toRaw: (messages) => ({ results: messages }),
});

const findToolCallList = (body: unknown): readonly unknown[] | null => {
  const message = member(body, 'message');
  if (member(message, 'type') !== 'tool-calls') return null;
  const calls = member(message, 'toolCallList');
  if (isArray(calls)) return calls;
  // As Vapi called it earlier.
  const older = member(message, 'toolCalls');
  return isArray(older) ? older : [];
};

const toCall = (item: unknown): ProviderCall => {
  if (!isObject(item)) return toBrokenCall(item);
  const inner = member(item, 'function') ?? item;
  // One of the published examples says `parameters` for what the others call `arguments`.
  const args = member(inner, 'arguments') ?? member(inner, 'parameters');
  return toProviderCall(member(item, 'id'), member(inner, 'name'), args);
};

const toResult = ({ call, failed, text }: Answer): ToolCallResult => {
  const head = { toolCallId: String(call.id), ...(call.name === null ? {} : { name: call.name }) };
  const line = toOneLine(text);
  return failed ? { ...head, error: line } : { ...head, result: line };
};

// Split and joined: one expression for "blanks around a break" would try every blank of a long run.
const toOneLine = (text: string): string =>
  text
    .split(/[\n\r\v\f\u0085\u2028\u2029]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');
