import { isArray, isRecord, listAt, memberOf } from '#src/contract/json-record.ts';
import type { MESSAGE_FORMATS } from '#src/contract/message-format.ts';

// The provider's side of a conversation: how a model writes its calls, and how a client finds the answers to them.

type Format = Exclude<(typeof MESSAGE_FORMATS)[number], 'native'>;

export type TurnCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
};

const toChatCall = ({ id, name, arguments: args }: TurnCall) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

const toItem = ({ id, name, arguments: args }: TurnCall) => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: JSON.stringify(args),
});

const TURNS: Readonly<Record<Format, (calls: readonly TurnCall[]) => unknown>> = {
  'openai-chat': (calls) => ({ role: 'assistant', content: null, tool_calls: calls.map(toChatCall) }),
  'openai-responses': (calls) => calls.map(toItem),
  'openai-realtime': (calls) => ({
    type: 'response.done',
    response: {
      object: 'realtime.response',
      output: calls.map((call) => ({ object: 'realtime.item', ...toItem(call) })),
    },
  }),
  anthropic: (calls) => ({
    role: 'assistant',
    content: calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: call.arguments })),
  }),
  gemini: (calls) => ({
    role: 'model',
    parts: calls.map((call) => ({ functionCall: { id: call.id, name: call.name, args: call.arguments } })),
  }),
  bedrock: (calls) => ({
    role: 'assistant',
    content: calls.map((call) => ({ toolUse: { toolUseId: call.id, name: call.name, input: call.arguments } })),
  }),
  mistral: (calls) => ({
    role: 'assistant',
    content: '',
    toolCalls: calls.map((call, index) => ({ ...toChatCall(call), index })),
    prefix: false,
  }),
  cohere: (calls) => ({ role: 'assistant', toolPlan: '', toolCalls: calls.map(toChatCall) }),
  ollama: (calls) => ({
    role: 'assistant',
    content: '',
    tool_calls: calls.map((call) => ({ id: call.id, function: { name: call.name, arguments: call.arguments } })),
  }),
  'ai-sdk': (calls) => ({
    role: 'assistant',
    content: calls.map((call) => ({
      type: 'tool-call',
      toolCallId: call.id,
      toolName: call.name,
      input: call.arguments,
    })),
  }),
  vapi: (calls) => ({ message: { type: 'tool-calls', toolCallList: calls } }),
  langchain: (calls) => ({
    type: 'ai',
    content: '',
    tool_calls: calls.map((call) => ({ name: call.name, args: call.arguments, id: call.id, type: 'tool_call' })),
    invalid_tool_calls: [],
  }),
  text: (calls) => ({ calls }),
};

/** The turn in which a model of the provider asks for these calls. */
export const writeTurn = (format: Format, calls: readonly TurnCall[]): unknown => TURNS[format](calls);

/** One answer as a client finds it. */
export type ReadAnswer = {
  readonly id: unknown;
  readonly name: unknown;
  readonly success: boolean;
  readonly text: string;
};

type Found = { readonly id?: unknown; readonly name?: unknown; readonly text: unknown; readonly success?: boolean };

// A message without a flag says that it is a failure by how it begins.
const isFailure = (text: string): boolean => /^ERROR: [a-z_]+: /.test(text);

const textOfBlocks = (blocks: unknown): unknown =>
  isArray(blocks)
    ? blocks
        .map((block) => memberOf(block, 'text'))
        .filter((text) => typeof text === 'string')
        .join('\n')
    : blocks;

const readToolMessage = (message: unknown): readonly Found[] =>
  memberOf(message, 'role') === 'tool'
    ? [
        {
          id: memberOf(message, 'toolCallId') ?? memberOf(message, 'tool_call_id') ?? '',
          name: memberOf(message, 'name') ?? memberOf(message, 'tool_name'),
          text: memberOf(message, 'content'),
        },
      ]
    : [];

const readChat = (message: unknown): readonly Found[] =>
  memberOf(message, 'role') === 'function'
    ? [{ id: null, name: memberOf(message, 'name'), text: memberOf(message, 'content') }]
    : readToolMessage(message);

const readItem = (item: unknown): readonly Found[] =>
  isRecord(item) ? [{ id: memberOf(item, 'call_id'), text: textOfBlocks(memberOf(item, 'output')) }] : [];

const readGeminiPart = (part: unknown): Found => {
  const found = memberOf(part, 'functionResponse') ?? memberOf(part, 'function_response');
  const [error, output] = ['error', 'output'].map((key) => memberOf(memberOf(found, 'response'), key));
  const text = error ?? (typeof output === 'string' ? output : JSON.stringify(output));
  return { id: memberOf(found, 'id'), name: memberOf(found, 'name'), text, success: error === undefined };
};

const SUCCESS = 'SUCCESS: ';

const readLine = (line: unknown): readonly Found[] => {
  if (typeof line !== 'string') return [];
  return line.startsWith(SUCCESS)
    ? [{ text: line.slice(SUCCESS.length), success: true }]
    : [{ text: line, success: false }];
};

const READERS: Readonly<Record<Format, (message: unknown) => readonly Found[]>> = {
  'openai-chat': readChat,
  'openai-responses': readItem,
  'openai-realtime': (event) => readItem(memberOf(event, 'item')),
  anthropic: (message) =>
    listAt(message, 'content').map((block) => ({
      id: memberOf(block, 'tool_use_id'),
      text: textOfBlocks(memberOf(block, 'content')),
      success: memberOf(block, 'is_error') !== true,
    })),
  gemini: (message) => listAt(message, 'parts').map(readGeminiPart),
  bedrock: (message) =>
    listAt(message, 'content').map((block) => ({
      id: memberOf(memberOf(block, 'toolResult'), 'toolUseId'),
      text: textOfBlocks(memberOf(memberOf(block, 'toolResult'), 'content')),
      success: memberOf(memberOf(block, 'toolResult'), 'status') !== 'error',
    })),
  mistral: readToolMessage,
  cohere: readToolMessage,
  ollama: readToolMessage,
  'ai-sdk': (message) =>
    listAt(message, 'content').map((part) => ({
      id: memberOf(part, 'toolCallId'),
      name: memberOf(part, 'toolName'),
      text: memberOf(memberOf(part, 'output'), 'value'),
      success: memberOf(memberOf(part, 'output'), 'type') === 'text',
    })),
  vapi: (message) => [
    {
      id: memberOf(message, 'toolCallId'),
      name: memberOf(message, 'name'),
      text: memberOf(message, 'error') ?? memberOf(message, 'result'),
      success: memberOf(message, 'error') === undefined,
    },
  ],
  langchain: (message) => [
    {
      id: memberOf(message, 'tool_call_id'),
      name: memberOf(message, 'name'),
      text: memberOf(message, 'content'),
      success: memberOf(message, 'status') !== 'error',
    },
  ],
  text: readLine,
};

/** The answers in messages that the service wrote, in order; what is no answer of this format is left out. */
export const readAnswers = (format: Format, messages: readonly unknown[]): readonly ReadAnswer[] =>
  messages.flatMap(READERS[format]).flatMap(({ id = null, name = null, text, success }) => {
    if (typeof text !== 'string') return [];
    return [{ id, name, text, success: success ?? !isFailure(text) }];
  });
