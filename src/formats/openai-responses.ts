import { type Answer, type AskedCall, defineDialect } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { type ImageType, toImageBlocks } from './images.ts';
import { isArray, isObject, type JsonObject, member, textOfBlocks, toAskedId, toAskedName } from './json-access.ts';
import type { Part } from './media.ts';
import { isFailureText } from './observation.ts';

/** OpenAI's ResponseInputText and ResponseInputImage. */
export type ShownItem =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly image_url: string; readonly detail: 'auto' };

/** OpenAI's ResponseInputItem for one answer, a list where it holds images. It has no flag for failures. */
export type FunctionCallOutput = {
  readonly type: 'function_call_output' | 'custom_tool_call_output';
  readonly call_id: string;
  readonly output: string | ShownItem[];
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

// A GIF is taken where it does not move, which its first bytes do not tell.
const IMAGE_TYPES: readonly ImageType[] = ['image/png', 'image/jpeg', 'image/webp'];

const toShown = (parts: readonly Part[]): ShownItem[] | null =>
  toImageBlocks<ShownItem>(parts, IMAGE_TYPES, {
    text: (text) => ({ type: 'input_text', text }),
    image: ({ mimeType, data }) => ({
      type: 'input_image',
      image_url: `data:${mimeType};base64,${data}`,
      detail: 'auto',
    }),
  });

const toOutput = ({ asked, text, parts }: Answer<AskedItem>): FunctionCallOutput => ({
  type: asked.outputType,
  call_id: String(asked.id),
  output: (parts === null ? null : toShown(parts)) ?? text,
});

const toReadAnswer = (item: unknown): readonly ReadAnswer[] => {
  const type = member(item, 'type');
  const output = member(item, 'output');
  const text = textOfBlocks(output) ?? output;
  if ((type !== 'function_call_output' && type !== 'custom_tool_call_output') || typeof text !== 'string') return [];
  return [{ id: toAskedId(member(item, 'call_id')), name: null, success: !isFailureText(text), text }];
};
