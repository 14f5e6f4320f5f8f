import { type Answer, type AskedCall, defineDialect } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { isArray, isObject, type JsonObject, member, toAskedId, toAskedName } from './json-access.ts';
import { isFailureText } from './observation.ts';

/** OpenAI's ResponseInputItem for one answer. It has no flag for failures. */
export type FunctionCallOutput = {
  readonly type: 'function_call_output' | 'custom_tool_call_output';
  readonly call_id: string;
  readonly output: string;
};

type AskedItem = AskedCall & { readonly outputType: FunctionCallOutput['type'] };

/**
 * OpenAI responses: a response, its output items, or one item. What is not a function or custom tool call is left out:
 * the provider runs it itself, or it belongs to the runtime (a shell, a computer).
 */
export const openaiResponses = defineDialect<AskedItem>({
  format: 'openai-responses',
  readCalls: (body) => findItems(body)?.flatMap(toAsked) ?? null,
  writeAnswers: (answers) => answers.map(toOutput),
  writeTurn: (calls) =>
    calls.map((call) => ({
      type: 'function_call',
      call_id: call.id,
      name: call.name,
      arguments: JSON.stringify(call.arguments),
    })),
  readMessage: (message) => toReadAnswer(message),
});

const findItems = (body: unknown): readonly unknown[] | null => {
  if (isArray(body)) return body;
  const output = member(body, 'output');
  if (isArray(output)) return output;
  return isObject(body) && toAsked(body).length > 0 ? [body] : null;
};

const toAsked = (item: unknown): readonly AskedItem[] => {
  if (!isObject(item)) return [];
  const type = member(item, 'type');
  if (type === 'function_call') return [toAskedItem(item, 'arguments', 'function_call_output')];
  if (type === 'custom_tool_call') return [toAskedItem(item, 'input', 'custom_tool_call_output')];
  return [];
};

const toAskedItem = (
  item: JsonObject,
  argumentsKey: 'arguments' | 'input',
  outputType: AskedItem['outputType'],
): AskedItem => {
  const id = member(item, 'call_id');
  const name = member(item, 'name');
  const call = { id, name, arguments: member(item, argumentsKey) };
  return { id: toAskedId(id), name: toAskedName(name), call, outputType };
};

const toOutput = ({ asked, text }: Answer<AskedItem>): FunctionCallOutput => ({
  type: asked.outputType,
  call_id: String(asked.id),
  output: text,
});

const toReadAnswer = (item: unknown): readonly ReadAnswer[] => {
  const type = member(item, 'type');
  const text = member(item, 'output');
  if ((type !== 'function_call_output' && type !== 'custom_tool_call_output') || typeof text !== 'string') return [];
  return [{ id: toAskedId(member(item, 'call_id')), name: null, success: !isFailureText(text), text }];
};
