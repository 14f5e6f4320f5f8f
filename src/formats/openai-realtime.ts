import { type Answer, defineDialect } from './define-dialect.ts';
import { member, toAskedId } from './json-access.ts';
import { isFailureText } from './observation.ts';
import { type AskedItem, readItems } from './openai-responses.ts';

/** OpenAI's ConversationItemCreateEvent for one answer. It has no flag for failures, and shows no images. */
export type ItemCreateEvent = {
  readonly type: 'conversation.item.create';
  readonly item: { readonly type: 'function_call_output'; readonly call_id: string; readonly output: string };
};

/**
 * OpenAI realtime: the event `response.done`, its response, or the items of its output. The answers are events to send;
 * `response.create`, which lets the model go on, is left to the client.
 */
export const openaiRealtime = defineDialect<AskedItem>({
  format: 'openai-realtime',
  spellings: ['openai-realtime', 'openai-responses'],
  readCalls: (body) => readItems(member(body, 'type') === 'response.done' ? member(body, 'response') : body),
  writeAnswers: (answers) => answers.map(toEvent),
  writeTurn: (calls) => ({
    type: 'response.done',
    response: {
      object: 'realtime.response',
      output: calls.map((call) => ({
        object: 'realtime.item',
        type: 'function_call',
        call_id: call.id,
        name: call.name,
        arguments: JSON.stringify(call.arguments),
      })),
    },
  }),
  readMessage: (event) => {
    const item = member(event, 'item');
    const text = member(item, 'output');
    if (member(item, 'type') !== 'function_call_output' || typeof text !== 'string') return [];
    return [{ id: toAskedId(member(item, 'call_id')), name: null, success: !isFailureText(text), text }];
  },
});

const toEvent = ({ asked, text }: Answer<AskedItem>): ItemCreateEvent => ({
  type: 'conversation.item.create',
  item: { type: 'function_call_output', call_id: String(asked.id), output: text },
});
