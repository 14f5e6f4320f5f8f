import { withoutArguments, withoutCutOff } from './cut-off.ts';
import { type Answer, type AskedCall, defineDialect, type FoundCalls, foundIn } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { type ImageType, toImageBlocks } from './images.ts';
import { isArray, isObject, member, textOfBlocks, toAskedId, toAskedName } from './json-access.ts';
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

export type AskedItem = AskedCall & { readonly outputType: FunctionCallOutput['type'] };

/**
 * OpenAI responses: a response, its output items, or one item. What is not a function or custom tool call is left out:
 * the provider runs it itself, or it belongs to the runtime (a shell, a computer).
 */
export const openaiResponses = defineDialect<AskedItem>({
  format: 'openai-responses',
  spellings: ['openai-responses', 'openai-realtime'],
  readCalls: (body) => readItems(isEndOfStream(body) ? member(body, 'response') : body),
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

// The last event of a stream holds the whole response.
const isEndOfStream = (body: unknown): boolean => member(body, 'type') === 'response.completed';

/** The calls of a response, of its items, or of one item. */
export const readItems = (body: unknown): FoundCalls<AskedItem> | null => {
  const items = findItems(body);
  return items === null ? null : withoutCutOff(foundIn(items, toWhole), body);
};

const findItems = (body: unknown): readonly unknown[] | null => {
  if (isArray(body)) return body;
  const output = member(body, 'output');
  if (isArray(output)) return output;
  return isObject(body) && toAsked(body).length > 0 ? [body] : null;
};

// An item that was cut off says so itself.
const toWhole = (item: unknown): readonly AskedItem[] =>
  member(item, 'status') === 'incomplete' ? toAsked(item).map(withoutArguments) : toAsked(item);

const toAsked = (item: unknown): readonly AskedItem[] => {
  const type = member(item, 'type');
  if (type !== 'function_call' && type !== 'custom_tool_call') return [];
  const id = member(item, 'call_id');
  const name = member(item, 'name');
  const head = { id: toAskedId(id), name: toAskedName(name) };
  if (type === 'function_call')
    return [{ ...head, call: { id, name, arguments: member(item, 'arguments') }, outputType: 'function_call_output' }];
  const call = { id, name, arguments: member(item, 'input'), written: 'freely' };
  return [{ ...head, call, outputType: 'custom_tool_call_output' }];
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
