import { isArray, isRecord, type JsonRecord, memberOf } from 'recourse-server/contract/json-record';
import {
  type Answer,
  createBrokenCall,
  defineDialect,
  foundIn,
  type ProviderCall,
  readProviderCall,
} from './define-dialect.ts';

/** Vapi's ToolCallResult: `result` or `error`, each on one line, for it reads no more. */
export type ToolCallResult = { readonly toolCallId: string; readonly name?: string } & (
  | { readonly result: string }
  | { readonly error: string }
);

const isVapi = (body: JsonRecord): boolean => memberOf(memberOf(body, 'message'), 'type') === 'tool-calls';

/**
 * Vapi: the `tool-calls` server message (docs.vapi.ai/tools/custom-tools), with the calls flat or as OpenAI writes them.
 * The raw answer is what the webhook must return.
 */
export const vapi = defineDialect({
  format: 'vapi',
  marks: isVapi,
  reads: ['openai-chat'],
  readCalls: (body) => {
    const list = findToolCallList(body);
    return list === null ? null : foundIn(list, (item) => [readCall(item)]);
  },
  writeAnswers: (answers) => answers.map(writeResult),
  toRaw: (messages) => ({ results: messages }),
});

const findToolCallList = (body: unknown): readonly unknown[] | null => {
  const message = memberOf(body, 'message');
  if (memberOf(message, 'type') !== 'tool-calls') return null;
  const calls = memberOf(message, 'toolCallList');
  if (isArray(calls)) return calls;
  // As Vapi called it earlier.
  const older = memberOf(message, 'toolCalls');
  return isArray(older) ? older : [];
};

const readCall = (item: unknown): ProviderCall => {
  if (!isRecord(item)) return createBrokenCall(item);
  const inner = memberOf(item, 'function') ?? item;
  // One of the published examples says `parameters` for what the others call `arguments`.
  const args = memberOf(inner, 'arguments') ?? memberOf(inner, 'parameters');
  return readProviderCall(memberOf(item, 'id'), memberOf(inner, 'name'), args);
};

const writeResult = ({ call, failed, text }: Answer): ToolCallResult => {
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
