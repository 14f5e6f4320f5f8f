import { rejectAnthropic, rejectHeaders } from './anthropic-rejection.ts';
import { isArrayOfObjects, isObject, type JsonObject, objectsOf, repeatedOf, textOf } from './json-type.ts';
import { judgeAnthropicTools } from './judge-anthropic-tools.ts';
import {
  type Conversation,
  firstObjection,
  type ModelTurn,
  NOTHING_SAID,
  type Observation,
  type Provider,
  type Rejection,
  toObjectArguments,
} from './provider.ts';
import { toOfferedTool } from './to-offered-tool.ts';

type Message = { readonly role: unknown; readonly blocks: readonly JsonObject[]; readonly place: number };
type Request = { readonly messages: readonly Message[]; readonly body: JsonObject };

/** A thread, by the id of its last reply: what the API keeps, so that requests send only what is new. */
type Threads = Map<string, { readonly messages: readonly unknown[]; readonly tools: unknown }>;

/** Anthropic's `POST /v1/messages`. Error texts are the API's, as its documentation and public bug reports quote them. */
export const createAnthropic = (): Provider => {
  const threads: Threads = new Map();
  let last: JsonObject = {};
  return {
    servesPath: (path) => path === '/v1/messages',
    take: (body, headers) => {
      const request = rejectHeaders(headers) ?? toWholeRequest(body, threads);
      const rejection = 'status' in request ? request : firstObjection(RULES, request);
      if (rejection !== null) return { kind: 'rejected', rejection };
      last = 'status' in request ? {} : request.body;
      return { kind: 'accepted', conversation: 'status' in request ? NOTHING_SAID : toConversation(request) };
    },
    write: (turn, place) => {
      const reply = { id: `msg_${place}`, role: 'assistant', content: toBlocks(turn) };
      const { messages, tools } = last;
      threads.set(reply.id, {
        messages: [...objectsOf(messages), { role: reply.role, content: reply.content }],
        tools,
      });
      return toMessage(reply, turn);
    },
  };
};

const toWholeRequest = (body: unknown, threads: Threads): Request | Rejection => {
  const given = isObject(body) && isObject(body['thread']) ? body['thread'] : {};
  if (!isObject(body) || given['type'] !== 'continue') return toRequest(body);
  const thread = threads.get(String(given['previous_message_id']));
  if (thread === undefined) return rejectAnthropic('thread.previous_message_id: not found', 'thread_not_found');
  return toRequest({ ...body, tools: thread.tools, messages: [...thread.messages, ...objectsOf(body['messages'])] });
};

const toRequest = (body: unknown): Request | Rejection => {
  if (!isObject(body)) return rejectAnthropic('Input should be a valid dictionary');
  if (typeof body['max_tokens'] !== 'number') return rejectAnthropic('max_tokens: Field required');
  const { messages } = body;
  if (!isArrayOfObjects(messages) || messages.length === 0)
    return rejectAnthropic('messages: at least one message is required');
  const read: Message[] = [];
  for (const [place, { role, content }] of messages.entries()) {
    const isText = typeof content === 'string';
    if (!isText && !isArrayOfObjects(content))
      return rejectAnthropic(`messages.${place}.content: Input should be a valid list`);
    read.push({ role, place, blocks: isText ? [{ type: 'text', text: content }] : content });
  }
  return { messages: read, body };
};

const ofType = (blocks: readonly JsonObject[], type: string): readonly JsonObject[] =>
  blocks.filter((block) => block['type'] === type);

/** The results with which a message begins: behind anything else they do not count. */
const leadingResults = (message: Message | undefined): readonly JsonObject[] => {
  const blocks = message?.blocks ?? [];
  const end = blocks.findIndex(({ type }) => type !== 'tool_result');
  return end === -1 ? blocks : blocks.slice(0, end);
};

const judgeEach =
  (judge: (message: Message, messages: readonly Message[]) => Rejection | null) =>
  ({ messages }: Request): Rejection | null => {
    for (const message of messages) {
      const rejection = judge(message, messages);
      if (rejection !== null) return rejection;
    }
    return null;
  };

const judgeRoles = judgeEach(({ role, place }, messages) => {
  if (role !== 'user' && role !== 'assistant')
    return rejectAnthropic(
      `messages: Unexpected role "${String(role)}". The Messages API accepts "user" and "assistant".`,
    );
  // The API joins neighbours of one role, and then finds results that do not stand first: strict here.
  return messages[place - 1]?.role === role
    ? rejectAnthropic(
        `messages: roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row`,
      )
    : null;
});

const judgeEmptiness = judgeEach(({ blocks, place }, messages) => {
  if (blocks.length === 0 && place < messages.length - 1)
    return rejectAnthropic(
      `messages.${place}: all messages must have non-empty content except for the optional final assistant message`,
    );
  const inside = ofType(blocks, 'tool_result').flatMap(({ content }) => objectsOf(content));
  const texts = ofType([...blocks, ...inside], 'text').map(({ text }) => text);
  if (texts.some((text) => text === '')) return rejectAnthropic('messages: text content blocks must be non-empty');
  return texts.some((text) => typeof text === 'string' && text.trim() === '')
    ? rejectAnthropic('messages: text content blocks must contain non-whitespace text')
    : null;
});

const judgeResults = judgeEach(({ blocks, place }) => {
  for (const [index, block] of blocks.entries()) {
    const path = `messages.${place}.content.${index}.tool_result`;
    const fault = block['type'] === 'tool_result' ? findResultFault(block) : null;
    if (fault !== null) return rejectAnthropic(`${path}${fault}`);
  }
  return null;
});

const findResultFault = ({ is_error: isError, content }: JsonObject): string | null => {
  if (isError !== undefined && typeof isError !== 'boolean') return '.is_error: Input should be a valid boolean';
  if (content !== undefined && typeof content !== 'string' && !isArrayOfObjects(content))
    return '.content: Input should be a valid list';
  return isError === true && textOf(content) === '' ? ': content cannot be empty if `is_error` is true' : null;
};

const judgeStrayResults = judgeEach(({ blocks, place }, messages) => {
  const asked = ofType(messages[place - 1]?.blocks ?? [], 'tool_use').map(({ id }) => id);
  const index = blocks.findIndex(({ type, tool_use_id: id }) => type === 'tool_result' && !asked.includes(id));
  return index === -1
    ? null
    : rejectAnthropic(
        `messages.${place}.content.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(blocks[index]?.['tool_use_id'])}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
});

const judgeDoubledResults = judgeEach(({ blocks, place }) => {
  const ids = ofType(blocks, 'tool_result').map(({ tool_use_id: id }) => String(id));
  const [doubled] = repeatedOf(ids);
  return doubled === undefined
    ? null
    : rejectAnthropic(
        `messages.${place}.content.${ids.lastIndexOf(doubled)}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${doubled}`,
      );
});

const judgeMissingResults = judgeEach(({ blocks, place }, messages) => {
  const answered = leadingResults(messages[place + 1]).map(({ tool_use_id: id }) => id);
  const missing = ofType(blocks, 'tool_use').filter(({ id }) => !answered.includes(id));
  return missing.length === 0
    ? null
    : rejectAnthropic(
        `messages.${place}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.map(({ id }) => String(id)).join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
});

const judgeUseIds = ({ messages }: Request): Rejection | null => {
  const ids = messages.flatMap(({ blocks }) => ofType(blocks, 'tool_use').map(({ id }) => String(id)));
  return repeatedOf(ids).length === 0 ? null : rejectAnthropic('messages: `tool_use` ids must be unique');
};

// Gone since API version 2026-10-21; nobody needs them here with an older one.
const judgeSampling = ({ body }: Request): Rejection | null => {
  const given = ['temperature', 'top_p', 'top_k'].find((name) => body[name] !== undefined);
  return given === undefined ? null : rejectAnthropic(`${given}: Extra inputs are not permitted`);
};

const RULES = [
  judgeSampling,
  judgeRoles,
  judgeEmptiness,
  judgeResults,
  judgeUseIds,
  judgeStrayResults,
  judgeDoubledResults,
  judgeMissingResults,
  ({ body }: Request) => judgeAnthropicTools(body['tools']),
];

const toConversation = ({ messages, body }: Request): Conversation => ({
  question: textOf(messages.find(({ role }) => role === 'user')?.blocks),
  tools: objectsOf(body['tools']).map((tool) => toOfferedTool(tool, 'input_schema')),
  rounds: messages.flatMap((message) => {
    const results = leadingResults(message);
    return results.length === 0 ? [] : [results.map(toObservation)];
  }),
});

const toObservation = ({ tool_use_id: id, content, is_error: isError }: JsonObject): Observation => ({
  id: String(id),
  text: textOf(content),
  isError: isError === true,
});

const toBlocks = (turn: ModelTurn): readonly unknown[] =>
  'text' in turn
    ? [{ type: 'text', text: turn.text, citations: null }]
    : turn.calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: toObjectArguments(call) }));

const toMessage = (reply: JsonObject, turn: ModelTurn): unknown => ({
  ...reply,
  type: 'message',
  model: 'scripted',
  stop_reason: 'text' in turn ? 'end_turn' : 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
});
