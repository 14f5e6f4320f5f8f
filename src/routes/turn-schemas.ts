import * as z from 'zod';
import { MESSAGE_FORMATS, type MessageFormat } from '../contract/message-format.ts';
import { ToolCall, ToolCallsRequest } from '../contract/tool-call.ts';
import { ToolCallsResponse } from '../contract/tool-result.ts';

// For the document only: what is accepted is decided by the dialects, which take more shapes than are written here.

const { calls: _calls, ...MEMBERS } = ToolCallsRequest.shape;

// Defaults are told in words: openapi-typescript takes a member with a `default` for one that every body must have.
const ENVELOPE_MEMBERS = {
  ...MEMBERS,
  order: MEMBERS.order.unwrap().optional().describe('`parallel`, if left out.'),
  on_error: MEMBERS.on_error
    .unwrap()
    .optional()
    .describe('`continue`, if left out. With `sequential`: `stop` answers the rest with not_executed.'),
};

const RAW = z.boolean().optional().describe('Answer with the messages alone. Changes nothing for `native`.');
const FORMAT = 'Told by the shape of the body, if left out.';

/** The service's own envelope. */
const Envelope = z
  .looseObject({
    ...ENVELOPE_MEMBERS,
    calls: z.array(ToolCall).max(1024),
    format: z.enum(['native', 'text']).optional().describe('`text` is answered in plain observations as well.'),
    raw: RAW,
  })
  .meta({ id: 'ToolCallsEnvelope', description: "The service's own envelope." });

/** A body of a provider, posted as its model's message with what the envelope says beside it. */
const toBody = <Shape extends z.core.$ZodLooseShape>(format: MessageFormat, description: string, shape: Shape) =>
  z
    .looseObject({ ...shape, ...ENVELOPE_MEMBERS, format: z.literal(format).optional().describe(FORMAT), raw: RAW })
    .meta({ description });

const Id = z.string();
const Name = z.string();

const ChatCall = z.looseObject({
  id: Id,
  type: z.literal('function'),
  function: z.looseObject({ name: Name, arguments: z.string() }),
});
const ResponsesCall = z.looseObject({
  type: z.literal('function_call'),
  call_id: Id,
  name: Name,
  arguments: z.string(),
});
const AnthropicCall = z.looseObject({
  type: z.literal('tool_use'),
  id: Id,
  name: Name,
  input: z.record(z.string(), z.unknown()),
});
const GeminiCall = z.looseObject({
  functionCall: z.looseObject({ id: Id.optional(), name: Name, args: z.record(z.string(), z.unknown()).optional() }),
});
const BedrockCall = z.looseObject({
  toolUse: z.looseObject({ toolUseId: Id, name: Name, input: z.record(z.string(), z.unknown()) }),
});
const IndexedCall = ChatCall.extend({ index: z.number().int() });
const OllamaCall = z.looseObject({
  function: z.looseObject({ name: Name, arguments: z.record(z.string(), z.unknown()) }),
});
const AiSdkCall = z.looseObject({
  type: z.literal('tool-call'),
  toolCallId: Id,
  toolName: Name,
  input: z.record(z.string(), z.unknown()),
});
const LangchainCall = z.looseObject({
  type: z.literal('tool_call'),
  id: Id,
  name: Name,
  args: z.record(z.string(), z.unknown()),
});
const VapiCall = z.looseObject({ id: Id, name: Name, arguments: z.record(z.string(), z.unknown()) });

const listOf = (call: z.ZodType, description: string) => z.array(call).min(1).max(1024).describe(description);

/** What POST /tool-calls takes, its own envelope first. */
export const TurnBody = z.union([
  Envelope,
  toBody('openai-chat', "OpenAI chat completions: the assistant message, or a whole completion's `choices`.", {
    role: z.literal('assistant'),
    tool_calls: z.array(ChatCall).max(1024),
  }),
  toBody('openai-responses', 'OpenAI responses: the whole response, or its output items.', {
    object: z.literal('response'),
    output: z.array(ResponsesCall).max(1024),
  }),
  toBody('openai-realtime', 'OpenAI realtime: the event `response.done`, or its response.', {
    type: z.literal('response.done'),
    response: z.looseObject({ output: z.array(ResponsesCall).max(1024) }),
  }),
  toBody('anthropic', 'Anthropic: the assistant message as the API answers it, or its content.', {
    type: z.literal('message'),
    role: z.literal('assistant'),
    stop_reason: z.literal('tool_use'),
    content: z.array(AnthropicCall).max(1024),
  }),
  toBody('gemini', 'Gemini: the content of a candidate, the whole response, or its parts.', {
    role: z.literal('model'),
    parts: z.array(GeminiCall).max(1024),
  }),
  toBody('bedrock', "Bedrock: what Converse answers, its message, or the message's content.", {
    role: z.literal('assistant'),
    content: z.array(BedrockCall).min(1).max(1024),
  }),
  toBody('mistral', "Mistral: the message as its client for TypeScript has it, or the client's whole answer.", {
    role: z.literal('assistant'),
    toolCalls: z.array(IndexedCall).min(1).max(1024),
  }),
  toBody('cohere', "Cohere: the message as its client for TypeScript has it, or the client's whole answer.", {
    role: z.literal('assistant'),
    toolPlan: z.string(),
    toolCalls: z.array(ChatCall).min(1).max(1024),
  }),
  toBody('ollama', 'Ollama: what `/api/chat` answers, or its message.', {
    message: z.looseObject({ role: z.literal('assistant'), tool_calls: z.array(OllamaCall).max(1024) }),
    done: z.boolean(),
  }),
  toBody('ai-sdk', "Vercel's AI SDK: the message of the assistant, or its parts.", {
    role: z.literal('assistant'),
    content: z.array(AiSdkCall).min(1).max(1024),
  }),
  toBody('vapi', 'Vapi: the tool-calls message that its server URL is sent.', {
    message: z.looseObject({ type: z.literal('tool-calls'), toolCallList: z.array(VapiCall).max(1024) }),
  }),
  toBody('langchain', 'LangChain: an AI message, stored or serialised as well.', {
    type: z.literal('ai'),
    content: z.string(),
    tool_calls: z.array(LangchainCall).max(1024),
  }),
  listOf(ChatCall, '`tool_calls` of OpenAI alone; `session_id` and its like come in the query.'),
  listOf(ResponsesCall, 'Output items of an OpenAI response alone.'),
  listOf(AnthropicCall, 'Content blocks of Anthropic alone.'),
  listOf(GeminiCall, 'Parts of a Gemini content alone.'),
  listOf(BedrockCall, 'Content blocks of Bedrock alone.'),
  listOf(AiSdkCall, 'Parts of the AI SDK alone.'),
  listOf(LangchainCall, '`tool_calls` of LangChain alone.'),
]);

/** What the query may say of a batch; it wins over the body. */
export const TurnQuery = z.object({
  format: z
    .enum(MESSAGE_FORMATS)
    .optional()
    .describe('How the body is written, and so the answer. Told by the shape of the body, if left out.')
    .meta({ examples: ['openai-chat'] }),
  raw: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true`: answer with the messages alone.')
    .meta({ examples: ['true'] }),
  session_id: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('The session, as `session_id` of the body.')
    .meta({ examples: ['agent_1'] }),
  round_id: z
    .string()
    .regex(/^[\x20-\x7e]{1,64}$/)
    .optional()
    .describe('The round, as `round_id` of the body.')
    .meta({ examples: ['round-2'] }),
  order: z
    .enum(['parallel', 'sequential'])
    .optional()
    .describe('How the calls run, as `order` of the body.')
    .meta({ examples: ['sequential'] }),
  on_error: z
    .enum(['continue', 'stop'])
    .optional()
    .describe('What follows a failure, as `on_error` of the body.')
    .meta({ examples: ['stop'] }),
  deadline_ms: z
    .number()
    .positive()
    .optional()
    .describe('Milliseconds for the batch, as `deadline_ms` of the body.')
    .meta({ examples: [20_000] }),
});

/** What POST /tool-calls answers. */
export const TurnAnswer = z.union([
  ToolCallsResponse,
  z
    .object({
      ...ToolCallsResponse.shape,
      format: z.enum(MESSAGE_FORMATS).exclude(['native']),
      messages: z
        .array(z.unknown())
        .describe('What the conversation goes on with: each call answered once, under its own id.'),
    })
    .meta({
      id: 'TurnResponse',
      description: 'To a message of a model, or to `text`: the results, and the same for the conversation.',
    }),
  z.array(z.unknown()).describe('With raw: `messages` alone.'),
  z.object({ results: z.array(z.unknown()) }).describe('With raw, to Vapi: what its webhook wants.'),
]);
