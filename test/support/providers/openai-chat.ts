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

type Request = { readonly messages: readonly JsonObject[]; readonly tools: unknown };

/** OpenAI's `POST /v1/chat/completions`. Error texts are the API's, as public bug reports quote them. */
export const openaiChat: Provider = {
  servesPath: (path) => path === '/v1/chat/completions',
  take: (body, headers) => {
    const request = toRequest(body);
    const rejection =
      rejectKeyless(headers) ?? ('status' in request ? request : firstObjection<Request>(RULES, request));
    if (rejection !== null) return { kind: 'rejected', rejection };
    return { kind: 'accepted', conversation: 'status' in request ? NOTHING_SAID : toConversation(request) };
  },
  write: (turn, place) => toCompletion(toMessage(turn), turn, place),
};

/** As some servers that speak the same format: a message without calls names an empty list of them. */
export const compatibleChat: Provider = {
  ...openaiChat,
  write: (turn, place) => toCompletion({ tool_calls: [], ...toMessage(turn) }, turn, place),
};

const toCompletion = (message: object, turn: ModelTurn, place: number): unknown => ({
  id: `chatcmpl-${place}`,
  object: 'chat.completion',
  created: 1_790_000_000,
  model: 'scripted',
  choices: [{ index: 0, message, logprobs: null, finish_reason: toFinishReason(turn) }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

const toRequest = (body: unknown): Request | Rejection => {
  if (!isObject(body) || !isArrayOfObjects(body['messages']) || body['messages'].length === 0)
    return rejectType('messages', 'an array of objects', nameType(isObject(body) ? body['messages'] : body));
  return { messages: body['messages'], tools: body['tools'] };
};

const callsOf = (message: JsonObject): readonly JsonObject[] => objectsOf(message['tool_calls']);
const idsOf = (calls: readonly JsonObject[]): readonly string[] => calls.map(({ id }) => String(id));

/** The tool messages that directly follow the message at `place`. */
const answersAfter = (messages: readonly JsonObject[], place: number): readonly JsonObject[] => {
  const rest = messages.slice(place + 1);
  const end = rest.findIndex(({ role }) => role !== 'tool');
  return end === -1 ? rest : rest.slice(0, end);
};

/** The place of the assistant message that the tool message at `place` answers; -1 where there is none. */
const askedAt = (messages: readonly JsonObject[], place: number): number => {
  const before = messages.slice(0, place).findLastIndex(({ role }) => role !== 'tool');
  const asking = messages[before];
  return asking !== undefined && asking['role'] === 'assistant' && callsOf(asking).length > 0 ? before : -1;
};

const judgeEach =
  (judge: (message: JsonObject, place: number, messages: readonly JsonObject[]) => Rejection | null) =>
  ({ messages }: Request): Rejection | null => {
    for (const [place, message] of messages.entries()) {
      const rejection = judge(message, place, messages);
      if (rejection !== null) return rejection;
    }
    return null;
  };

const judgeContent = judgeEach((message, place) => {
  const { content, role } = message;
  const param = `messages[${place}].content`;
  if (role === 'assistant' && (content === null || content === undefined) && callsOf(message).length > 0) return null;
  if (content === null || content === undefined)
    return rejectOpenai("Invalid value for 'content': expected a string, got null.", `messages.[${place}].content`);
  if (typeof content === 'string') return null;
  if (!isArrayOfObjects(content)) return rejectType(param, 'one of a string or array of objects', nameType(content));
  const wrong = content.find(({ type, text }) => role === 'tool' && (type !== 'text' || typeof text !== 'string'));
  return wrong === undefined
    ? null
    : rejectOpenai(`Invalid value: '${String(wrong['type'])}'. Supported values are: 'text'.`, `${param}[0].type`);
});

const judgeCalls = judgeEach((message, place) => {
  for (const [index, call] of callsOf(message).entries()) {
    const given = isObject(call['function']) ? call['function']['arguments'] : undefined;
    const param = `messages[${place}].tool_calls[${index}].function.arguments`;
    if (typeof given !== 'string') return rejectType(param, 'a string', nameType(given));
  }
  return null;
});

const judgeStrayAnswers = judgeEach((message, place, messages) =>
  message['role'] !== 'tool' || askedAt(messages, place) !== -1
    ? null
    : rejectOpenai(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        `messages.[${place}].role`,
      ),
);

const judgeUnknownIds = judgeEach((message, place, messages) => {
  if (message['role'] !== 'tool') return null;
  const asked = idsOf(callsOf(messages[askedAt(messages, place)] ?? {}));
  const id = String(message['tool_call_id']);
  return asked.includes(id)
    ? null
    : rejectOpenai(
        `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
        `messages.[${place}].tool_call_id`,
      );
});

const judgeDoubledAnswers = judgeEach((_message, place, messages) => {
  const ids = answersAfter(messages, place).map(({ tool_call_id }) => String(tool_call_id));
  const [doubled] = repeatedOf(ids);
  if (doubled === undefined) return null;
  const [first, second] = [ids.indexOf(doubled), ids.lastIndexOf(doubled)].map((index) => place + 1 + index);
  return rejectOpenai(
    `Invalid parameter: Duplicate value for 'tool_call_id' of '${doubled}', in messages[${first}] and messages[${second}].`,
    `messages.[${second}].tool_call_id`,
  );
});

const judgeMissingAnswers = judgeEach((message, place, messages) => {
  const answered = answersAfter(messages, place).map(({ tool_call_id }) => String(tool_call_id));
  const missing = idsOf(callsOf(message)).filter((id) => !answered.includes(id));
  return missing.length === 0
    ? null
    : rejectOpenai(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${missing.join(', ')}`,
        `messages.[${place + answered.length + 1}].role`,
      );
});

const judgeTools = ({ tools }: Request): Rejection | null => {
  if (tools === undefined) return null;
  if (!isArrayOfObjects(tools)) return rejectType('tools', 'an array of objects', nameType(tools));
  for (const [place, tool] of tools.entries()) {
    const declared = tool['function'];
    if (tool['type'] !== 'function' || !isObject(declared))
      return rejectOpenai(`Missing required parameter: 'tools[${place}].function'.`, `tools[${place}].function`);
    const rejection = judgeFunction(declared, `tools[${place}].function`);
    if (rejection !== null) return rejection;
  }
  return null;
};

const RULES = [
  judgeContent,
  judgeCalls,
  judgeStrayAnswers,
  judgeUnknownIds,
  judgeDoubledAnswers,
  judgeMissingAnswers,
  judgeTools,
];

const toConversation = ({ messages, tools }: Request): Conversation => ({
  question: textOf(messages.find(({ role }) => role === 'user')?.['content']),
  tools: objectsOf(objectsOf(tools).map((tool) => tool['function'])).map((tool) => toOfferedTool(tool, 'parameters')),
  rounds: messages.flatMap((message, place) =>
    callsOf(message).length === 0 ? [] : [answersAfter(messages, place).map(toObservation)],
  ),
});

const toObservation = ({ tool_call_id, content }: JsonObject): Observation => ({
  id: String(tool_call_id),
  text: textOf(content),
  isError: null,
});

const toMessage = (turn: ModelTurn): object =>
  'text' in turn
    ? { role: 'assistant', content: turn.text, refusal: null }
    : {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: turn.calls.map(({ id, name, arguments: given }) => ({
          id,
          type: 'function',
          function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
        })),
      };

const toFinishReason = (turn: ModelTurn): string => ('text' in turn ? 'stop' : 'tool_calls');
