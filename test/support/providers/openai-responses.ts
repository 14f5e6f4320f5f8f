import { isArrayOfObjects, isObject, type JsonObject, nameType, objectsOf, repeatedOf, textOf } from './json-type.ts';
import { judgeFunction } from './judge-openai-tools.ts';
import { rejectKeyless, rejectOpenai, rejectType } from './openai-rejection.ts';
import {
  type Conversation,
  firstObjection,
  type ModelTurn,
  NOTHING_SAID,
  type Observation,
  type Provider,
  type Rejection,
} from './provider.ts';
import { toOfferedTool } from './to-offered-tool.ts';

type Request = { readonly input: readonly JsonObject[]; readonly tools: unknown };

/**
 * OpenAI's `POST /v1/responses`. It keeps what it gave, as the API does, because clients refer to it by id. Error
 * texts are the API's, as public bug reports quote them.
 */
export const createOpenaiResponses = (): Provider => {
  const items = new Map<string, JsonObject>();
  /** Whole conversations, by the response that ended them. */
  const conversations = new Map<string, readonly JsonObject[]>();
  let lastInput: readonly JsonObject[] = [];
  return {
    servesPath: (path) => path === '/v1/responses',
    take: (body, headers) => {
      const request = toRequest(body, { items, conversations });
      lastInput = 'status' in request ? [] : request.input;
      const rejection =
        rejectKeyless(headers) ?? ('status' in request ? request : firstObjection<Request>(RULES, request));
      if (rejection !== null) return { kind: 'rejected', rejection };
      return { kind: 'accepted', conversation: 'status' in request ? NOTHING_SAID : toConversation(request) };
    },
    write: (turn, place) => {
      const output = toItems(turn, place);
      for (const item of output) items.set(item.id, item);
      conversations.set(`resp_${place}`, [...lastInput, ...output]);
      return toResponse(output, place);
    },
  };
};

type Kept = {
  readonly items: ReadonlyMap<string, JsonObject>;
  readonly conversations: ReadonlyMap<string, readonly JsonObject[]>;
};

const toRequest = (body: unknown, { items, conversations }: Kept): Request | Rejection => {
  const { input, tools, previous_response_id: previous } = isObject(body) ? body : {};
  const before = typeof previous === 'string' ? conversations.get(previous) : [];
  if (before === undefined)
    return rejectOpenai(
      `Previous response with id '${String(previous)}' not found.`,
      'previous_response_id',
      'previous_response_not_found',
    );
  if (typeof input === 'string') return { input: [...before, { role: 'user', content: input }], tools };
  if (!isArrayOfObjects(input)) return rejectType('input', 'one of a string or array of objects', nameType(input));
  const unknown = input.find(({ type, id }) => type === 'item_reference' && !items.has(String(id)));
  if (unknown !== undefined) return rejectItem(String(unknown['id']));
  const given = input.map((item) =>
    item['type'] === 'item_reference' ? (items.get(String(item['id'])) ?? item) : item,
  );
  return { input: [...before, ...given], tools };
};

const rejectItem = (id: string): Rejection => ({
  status: 404,
  body: {
    error: { message: `Item with id '${id}' not found.`, type: 'invalid_request_error', param: 'input', code: null },
  },
});

const ofType = (input: readonly JsonObject[], type: string): readonly JsonObject[] =>
  input.filter((item) => item['type'] === type);

const judgeTypes = ({ input }: Request): Rejection | null => {
  for (const [place, item] of input.entries()) {
    const member = TEXT_MEMBERS.get(String(item['type'] ?? 'message'));
    if (member === undefined || typeof item[member] === 'string') continue;
    const param = `input[${place}].${member}`;
    if (member === 'arguments') return rejectType(param, 'a string', nameType(item[member]));
    if (!isArrayOfObjects(item[member]))
      return rejectType(param, 'one of an array of objects or string', nameType(item[member]));
  }
  return null;
};
const TEXT_MEMBERS: ReadonlyMap<string, 'arguments' | 'output' | 'content'> = new Map([
  ['function_call', 'arguments'],
  ['function_call_output', 'output'],
  ['message', 'content'],
]);

const judgeItemTypes = ({ input }: Request): Rejection | null => {
  const place = input.findIndex(({ type, role }) => !ITEM_TYPES.has(String(type ?? (role && 'message'))));
  return place === -1
    ? null
    : rejectOpenai(`Invalid value: '${String(input[place]?.['type'])}'.`, `input[${place}]`, 'invalid_value');
};
const ITEM_TYPES: ReadonlySet<string> = new Set(['message', 'function_call', 'function_call_output', 'reasoning']);

const judgeDoubledItems = ({ input }: Request): Rejection | null => {
  const [doubled] = repeatedOf(input.flatMap(({ id }) => (typeof id === 'string' ? [id] : [])));
  return doubled === undefined
    ? null
    : rejectOpenai(
        `Duplicate item found with id ${doubled}. Remove duplicate items from your input and try again.`,
        'input',
      );
};

const judgeStrayOutputs = ({ input }: Request): Rejection | null => {
  for (const [place, item] of input.entries()) {
    if (item['type'] !== 'function_call_output') continue;
    const id = item['call_id'];
    // The call comes before its output.
    if (!ofType(input.slice(0, place), 'function_call').some(({ call_id }) => call_id === id))
      return rejectOpenai(`No tool call found for function call output with call_id ${String(id)}.`, 'input');
  }
  return null;
};

const judgeDoubledOutputs = ({ input }: Request): Rejection | null => {
  const [doubled] = repeatedOf(ofType(input, 'function_call_output').map(({ call_id }) => String(call_id)));
  return doubled === undefined
    ? null
    : rejectOpenai(
        `Duplicate function_call_output for call_id '${doubled}'. Each function_call must have exactly one matching function_call_output.`,
        'input',
      );
};

const judgeMissingOutputs = ({ input }: Request): Rejection | null => {
  const answered = ofType(input, 'function_call_output').map(({ call_id }) => call_id);
  const missing = ofType(input, 'function_call').find(({ call_id }) => !answered.includes(call_id));
  return missing === undefined
    ? null
    : rejectOpenai(`No tool output found for function call ${String(missing['call_id'])}.`, 'input');
};

const judgeTools = ({ tools }: Request): Rejection | null => {
  if (tools === undefined) return null;
  if (!isArrayOfObjects(tools)) return rejectType('tools', 'an array of objects', nameType(tools));
  for (const [place, tool] of tools.entries()) {
    if (tool['type'] !== 'function')
      return rejectOpenai(`Invalid value: '${String(tool['type'])}'.`, `tools[${place}].type`, 'invalid_value');
    const rejection = judgeFunction(tool, `tools[${place}]`);
    if (rejection !== null) return rejection;
  }
  return null;
};

const RULES = [
  judgeItemTypes,
  judgeTypes,
  judgeDoubledItems,
  judgeStrayOutputs,
  judgeDoubledOutputs,
  judgeMissingOutputs,
  judgeTools,
];

const toConversation = ({ input, tools }: Request): Conversation => ({
  question: textOf(input.find(({ role }) => role === 'user')?.['content']),
  tools: objectsOf(tools).map((tool) => toOfferedTool(tool, 'parameters')),
  rounds: toRounds(input),
});

/** Outputs between which no new call stands are one round. */
const toRounds = (input: readonly JsonObject[]): readonly (readonly Observation[])[] => {
  const rounds: Observation[][] = [];
  for (const [place, item] of input.entries()) {
    if (item['type'] !== 'function_call_output') continue;
    if (input[place - 1]?.['type'] !== 'function_call_output') rounds.push([]);
    rounds.at(-1)?.push({ id: String(item['call_id']), text: textOf(item['output']), isError: null });
  }
  return rounds;
};

type OutputItem = JsonObject & { readonly id: string };

const toItems = (turn: ModelTurn, place: number): readonly OutputItem[] =>
  'text' in turn
    ? [
        {
          id: `msg_${place}`,
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: turn.text, annotations: [], logprobs: [] }],
        },
      ]
    : turn.calls.map(({ id, name, arguments: given }, index) => ({
        id: `fc_${place}_${index}`,
        type: 'function_call',
        status: 'completed',
        call_id: id,
        name,
        arguments: typeof given === 'string' ? given : JSON.stringify(given),
      }));

const toResponse = (output: readonly OutputItem[], place: number): unknown => ({
  id: `resp_${place}`,
  object: 'response',
  created_at: 1_790_000_000,
  status: 'completed',
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  model: 'scripted',
  output,
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  usage: {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  },
});
