import { isArray, isRecord, type JsonRecord, memberOf } from 'recourse-server/contract/json-record';
import {
  defineDialect,
  type FoundCalls,
  foundIn,
  type ProviderCall,
  readProviderCall,
  withoutArguments,
  withoutCutOff,
} from './define-dialect.ts';
import { formatOfCall, formatOfItems } from './detect-format.ts';
import { type ImageType, type Part, writeImageBlocks } from './media.ts';

// OpenAI's Responses and Realtime interfaces, whose calls are items of an output. Neither has a flag for failures.

/** OpenAI's ResponseInputItem for one answer, a list where it holds images. */
export type FunctionCallOutput = {
  readonly type: 'function_call_output' | 'custom_tool_call_output';
  readonly call_id: string;
  readonly output: string | ShownItem[];
};

/** OpenAI's ResponseInputText and ResponseInputImage. */
type ShownItem =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly image_url: string; readonly detail: 'auto' };

type ItemCall = ProviderCall & { readonly outputType: FunctionCallOutput['type'] };

/** The calls of a response, of its items, or of one item. */
const readItems = (body: unknown): FoundCalls<ItemCall> | null => {
  const items = findItems(body);
  return items === null ? null : withoutCutOff(foundIn(items, readWholeCalls), body);
};

const findItems = (body: unknown): readonly unknown[] | null => {
  if (isArray(body)) return body;
  const output = memberOf(body, 'output');
  if (isArray(output)) return output;
  return isRecord(body) && readItemCalls(body).length > 0 ? [body] : null;
};

// An item that was cut off says so itself.
const readWholeCalls = (item: unknown): readonly ItemCall[] =>
  memberOf(item, 'status') === 'incomplete' ? readItemCalls(item).map(withoutArguments) : readItemCalls(item);

const readItemCalls = (item: unknown): readonly ItemCall[] => {
  const [type, id, name] = ['type', 'call_id', 'name'].map((key) => memberOf(item, key));
  if (type === 'function_call')
    return [{ ...readProviderCall(id, name, memberOf(item, 'arguments')), outputType: 'function_call_output' }];
  if (type === 'custom_tool_call')
    return [
      { ...readProviderCall(id, name, memberOf(item, 'input'), 'freely'), outputType: 'custom_tool_call_output' },
    ];
  return [];
};

// A GIF is taken where it does not move, which its first bytes do not tell.
const IMAGE_TYPES: readonly ImageType[] = ['image/png', 'image/jpeg', 'image/webp'];

const writeShown = (parts: readonly Part[]): ShownItem[] | null =>
  writeImageBlocks<ShownItem>(parts, IMAGE_TYPES, {
    text: (text) => ({ type: 'input_text', text }),
    image: ({ mimeType, data }) => ({
      type: 'input_image',
      image_url: `data:${mimeType};base64,${data}`,
      detail: 'auto',
    }),
  });

// The last event of a stream holds the whole response.
const isEndOfStream = (body: unknown): boolean => memberOf(body, 'type') === 'response.completed';

const isResponses = (body: JsonRecord): boolean => {
  const output = memberOf(body, 'output');
  if (isArray(output) && (memberOf(body, 'object') === 'response' || formatOfItems(output) === 'openai-responses'))
    return true;
  return formatOfCall(body) === 'openai-responses';
};

/**
 * OpenAI responses: a response, its output items, or one item. What is not a function or custom tool call is left out:
 * the provider runs it itself, or it belongs to the runtime (a shell, a computer).
 */
export const openaiResponses = defineDialect<ItemCall>({
  format: 'openai-responses',
  marks: isResponses,
  reads: ['openai-responses', 'openai-realtime'],
  readCalls: (body) => readItems(isEndOfStream(body) ? memberOf(body, 'response') : body),
  writeAnswers: (answers) =>
    answers.map(
      ({ call, text, parts }): FunctionCallOutput => ({
        type: call.outputType,
        call_id: String(call.id),
        output: (parts === null ? null : writeShown(parts)) ?? text,
      }),
    ),
});

/** OpenAI's ConversationItemCreateEvent for one answer. It shows no images. */
export type ItemCreateEvent = {
  readonly type: 'conversation.item.create';
  readonly item: { readonly type: 'function_call_output'; readonly call_id: string; readonly output: string };
};

const isRealtime = (body: JsonRecord): boolean => {
  if (memberOf(body, 'type') === 'response.done') return isArray(memberOf(memberOf(body, 'response'), 'output'));
  if (memberOf(body, 'object') === 'realtime.response') return isArray(memberOf(body, 'output'));
  return formatOfCall(body) === 'openai-realtime';
};

/**
 * OpenAI realtime: the event `response.done`, its response, or the items of its output. The answers are events to send;
 * `response.create`, which lets the model go on, is left to the client.
 */
export const openaiRealtime = defineDialect<ItemCall>({
  format: 'openai-realtime',
  marks: isRealtime,
  reads: ['openai-realtime', 'openai-responses'],
  readCalls: (body) => readItems(memberOf(body, 'type') === 'response.done' ? memberOf(body, 'response') : body),
  writeAnswers: (answers) =>
    answers.map(
      ({ call, text }): ItemCreateEvent => ({
        type: 'conversation.item.create',
        item: { type: 'function_call_output', call_id: String(call.id), output: text },
      }),
    ),
});
