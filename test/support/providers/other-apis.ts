import { createAnthropic } from './anthropic.ts';
import { isObject, type JsonObject, objectsOf } from './json-type.ts';
import { openaiChat } from './openai-chat.ts';
import { type ModelTurn, type PlannedCall, type Provider, toObjectArguments } from './provider.ts';

// APIs that say the same as OpenAI's or Anthropic's with other words. What such a provider refuses is judged there: calls
// without answers, answers without calls, and the like.

/** Mistral's `POST /v1/chat/completions`. */
export const mistral: Provider = openaiChat;

const textCalls = (calls: readonly PlannedCall[]) =>
  calls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
  }));

/** Cohere's `POST /v2/chat`. */
export const cohere: Provider = {
  servesPath: (path) => path === '/v2/chat',
  take: (body, headers) => openaiChat.take(body, headers),
  write: (turn, place) => ({
    id: `response-${place}`,
    finish_reason: 'text' in turn ? 'COMPLETE' : 'TOOL_CALL',
    message:
      'text' in turn
        ? { role: 'assistant', content: [{ type: 'text', text: turn.text }] }
        : { role: 'assistant', tool_plan: 'I will use tools.', tool_calls: textCalls(turn.calls) },
    usage: { tokens: { input_tokens: 1, output_tokens: 1 } },
  }),
};

/** Ollama's `POST /api/chat`: no keys, and answers that are matched by the names of their tools, in order. */
export const ollama: Provider = {
  servesPath: (path) => path === '/api/chat',
  take: (body) => openaiChat.take(toChatRequest(body), { authorization: 'Bearer none' }),
  write: (turn) => ({
    model: 'scripted',
    created_at: '2026-11-23T09:00:00.000Z',
    message: { role: 'assistant', ...toOllamaMessage(turn) },
    done: true,
    done_reason: 'stop',
  }),
};

const toOllamaMessage = (turn: ModelTurn) =>
  'text' in turn
    ? { content: turn.text }
    : {
        content: '',
        tool_calls: turn.calls.map((call) => ({ function: { name: call.name, arguments: toObjectArguments(call) } })),
      };

const toChatRequest = (body: unknown): unknown => {
  if (!isObject(body)) return body;
  const open: { id: string; name: unknown }[] = [];
  let asked = 0;
  const toCall = ({ function: given }: JsonObject) => {
    const { name, arguments: object } = Object(given);
    asked += 1;
    const id = `call_${asked}`;
    open.push({ id, name });
    return { id, type: 'function', function: { name, arguments: JSON.stringify(object) } };
  };
  const messages = objectsOf(body['messages']).map((message) => {
    if (message['role'] === 'tool') {
      const [call] = open.splice(
        open.findIndex(({ name }) => name === message['tool_name']),
        1,
      );
      return { role: 'tool', tool_call_id: call?.id, content: message['content'] };
    }
    return Array.isArray(message['tool_calls'])
      ? { ...message, tool_calls: objectsOf(message['tool_calls']).map(toCall) }
      : message;
  });
  return { messages, tools: body['tools'] };
};

/** Bedrock's `POST /model/…/converse`, signed in a way that is not looked at. */
export const createBedrock = (): Provider => {
  const anthropic = createAnthropic();
  return {
    servesPath: (path) => /^\/model\/[^/]+\/converse$/.test(path),
    take: (body, { authorization }) =>
      anthropic.take(toMessagesRequest(body), {
        ...(String(authorization).startsWith('AWS4-HMAC-SHA256 ') ? { 'x-api-key': 'signed' } : {}),
        'anthropic-version': '2023-06-01',
      }),
    write: (turn) => ({
      output: { message: { role: 'assistant', content: toBlocks(turn) } },
      stopReason: 'text' in turn ? 'end_turn' : 'tool_use',
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      metrics: { latencyMs: 1 },
    }),
  };
};

const toBlocks = (turn: ModelTurn) =>
  'text' in turn
    ? [{ text: turn.text }]
    : turn.calls.map((call) => ({
        toolUse: { toolUseId: call.id, name: call.name, input: toObjectArguments(call) },
      }));

const toMessagesRequest = (body: unknown): unknown => {
  if (!isObject(body)) return body;
  const { messages, toolConfig } = body;
  const tools = objectsOf(isObject(toolConfig) ? toolConfig['tools'] : []).map(({ toolSpec }) => {
    const { inputSchema, ...declared } = Object(toolSpec);
    return { ...declared, input_schema: Object(inputSchema).json };
  });
  return {
    max_tokens: 1,
    tools,
    messages: objectsOf(messages).map(({ role, content }) => ({ role, content: objectsOf(content).map(toBlock) })),
  };
};

const toBlock = (block: JsonObject): unknown => {
  const { toolUse, toolResult, text } = block;
  if (isObject(toolUse))
    return { type: 'tool_use', id: toolUse['toolUseId'], name: toolUse['name'], input: toolUse['input'] };
  if (!isObject(toolResult)) return { type: 'text', text };
  const content = objectsOf(toolResult['content']).map(({ text: said }) => ({ type: 'text', text: said }));
  const isError = toolResult['status'] === 'error' ? { is_error: true } : {};
  return { type: 'tool_result', tool_use_id: toolResult['toolUseId'], content, ...isError };
};
