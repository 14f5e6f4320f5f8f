import { type Answer, type AskedCall, defineDialect, foundIn } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { isArray, isObject, member, toAskedId, toAskedName } from './json-access.ts';

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
    return list === null ? null : foundIn(list, (item) => [toAsked(item)]);
  },
  writeAnswers: (answers) => answers.map(toResult),
  writeTurn: (calls) => ({
    message: {
      type: 'tool-calls',
      toolCallList: calls.map((call) => ({ id: call.id, name: call.name, arguments: call.arguments })),
    },
  }),
  readMessage: (message) => toReadAnswer(message),
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

const toAsked = (item: unknown): AskedCall => {
  if (!isObject(item)) return { id: '', name: null, call: item };
  const id = member(item, 'id');
  const inner = member(item, 'function') ?? item;
  const name = member(inner, 'name');
  // One of the published examples says `parameters` for what the others call `arguments`.
  const given = member(inner, 'arguments') ?? member(inner, 'parameters');
  return { id: toAskedId(id), name: toAskedName(name), call: { id, name, arguments: given } };
};

const toResult = ({ asked, success, text }: Answer): ToolCallResult => {
  const head = { toolCallId: String(asked.id), ...(asked.name === null ? {} : { name: asked.name }) };
  const line = toOneLine(text);
  return success ? { ...head, result: line } : { ...head, error: line };
};

// Split and joined: one expression for "blanks around a break" would try every blank of a long run.
const toOneLine = (text: string): string =>
  text
    .split(/[\n\r\v\f\u0085\u2028\u2029]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');

const toReadAnswer = (message: unknown): readonly ReadAnswer[] => {
  const error = member(message, 'error');
  const text = error ?? member(message, 'result');
  if (typeof text !== 'string') return [];
  const name = toAskedName(member(message, 'name'));
  return [{ id: toAskedId(member(message, 'toolCallId')), name, success: typeof error !== 'string', text }];
};
