import * as z from 'zod';
import { MESSAGE_FORMATS, type MessageFormat, SCHEDULINGS } from '../../src/contract/message-format.ts';
import { ToolCall, ToolCallsRequest } from '../../src/contract/tool-call.ts';
import { ToolCallsResponse } from '../../src/contract/tool-result.ts';

// For the document only: what is accepted is decided by the dialects, which take more shapes than are written here.

const { calls: _calls, ...MEMBERS } = ToolCallsRequest.shape;

// Defaults are told in words: openapi-typescript takes a member with a `default` for one that every body must have.
const ENVELOPE_MEMBERS = {
  ...MEMBERS,
  order: MEMBERS.order.unwrap().optional().describe('Default: `parallel`.'),
  on_error: MEMBERS.on_error
    .unwrap()
    .optional()
    .describe('Default: `continue`. With `sequential`: `stop` answers the rest with not_executed.'),
};

const RAW = z.boolean().optional().describe('Answer with the messages only. No effect for `native`.');
const FORMAT = 'Default: detected from the body.';

/** The service's own envelope. */
const Envelope = z
  .looseObject({
    ...ENVELOPE_MEMBERS,
    calls: z.array(ToolCall).max(1024),
    format: z
      .enum(['native', 'text'])
      .optional()
      .describe('`text`: the answer also contains the results as plain text.'),
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
  toBody('mistral', "Mistral: the message as its TypeScript client returns it, or the client's whole answer.", {
    role: z.literal('assistant'),
    toolCalls: z.array(IndexedCall).min(1).max(1024),
  }),
  toBody('cohere', "Cohere: the message as its TypeScript client returns it, or the client's whole answer.", {
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
  toBody('vapi', 'Vapi: the tool-calls message that it sends to the server URL.', {
    message: z.looseObject({ type: z.literal('tool-calls'), toolCallList: z.array(VapiCall).max(1024) }),
  }),
  toBody('langchain', 'LangChain: an AI message, also in stored or serialised form.', {
    type: z.literal('ai'),
    content: z.string(),
    tool_calls: z.array(LangchainCall).max(1024),
  }),
  listOf(ChatCall, 'Only `tool_calls` of OpenAI; `session_id` and other members are sent in the query.'),
  listOf(ResponsesCall, 'Only output items of an OpenAI response.'),
  listOf(AnthropicCall, 'Only content blocks of Anthropic.'),
  listOf(GeminiCall, 'Only parts of a Gemini content.'),
  listOf(BedrockCall, 'Only content blocks of Bedrock.'),
  listOf(AiSdkCall, 'Only parts of the AI SDK.'),
  listOf(LangchainCall, 'Only `tool_calls` of LangChain.'),
]);

/** What the query may say of a batch; it wins over the body. */
export const TurnQuery = z.object({
  format: z
    .enum(MESSAGE_FORMATS)
    .optional()
    .describe('The format of the body and of the answer. Default: detected from the body.')
    .meta({ examples: ['openai-chat'] }),
  raw: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true`: answer with the messages only.')
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
  dry_run: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true`: nothing runs, and each result says what its call would do, as `dry_run` of the body.')
    .meta({ examples: ['true'] }),
  deadline_ms: z
    .number()
    .positive()
    .optional()
    .describe('Milliseconds for the batch, as `deadline_ms` of the body.')
    .meta({ examples: [20_000] }),
  wait_ms: z
    .number()
    .nonnegative()
    .optional()
    .describe('Milliseconds to wait for results, as `wait_ms` of the body.')
    .meta({ examples: [10_000] }),
  idempotency: z
    .enum(['call_id'])
    .optional()
    .describe('Whether ids of calls are keys, as `idempotency` of the body.')
    .meta({ examples: ['call_id'] }),
  notify: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .optional()
    .describe('The webhook endpoint, as `notify` of the body.')
    .meta({ examples: ['ops'] }),
});

const TurnResponse = z
  .object({
    ...ToolCallsResponse.shape,
    format: z.enum(MESSAGE_FORMATS).exclude(['native']),
    messages: z
      .array(z.unknown())
      .describe('The messages to append to the conversation: one answer per call, under its id.'),
  })
  .meta({
    id: 'TurnResponse',
    description: 'For a model message, or `text`: the results, and the messages to append to the conversation.',
  });

const RAW_ANSWER = z.array(z.unknown()).describe('With raw: only `messages`.');

/** What POST /tool-calls answers. */
export const TurnAnswer = z.union([
  ToolCallsResponse,
  TurnResponse,
  RAW_ANSWER,
  z.object({ results: z.array(z.unknown()) }).describe('With raw, for Vapi: the answer that its webhook expects.'),
]);

/** What GET /tool-calls/{request_id} answers. */
export const LateAnswer = z.union([
  ToolCallsResponse,
  TurnResponse.extend({
    messages: TurnResponse.shape.messages.describe(
      'With `format`: what to append to the conversation to tell its model of calls that were pending and have ended. Empty as long as none has.',
    ),
  }).meta({
    id: 'LateResponse',
    description: 'With `format`: the results as they are now, and the messages that tell a model of late ones.',
  }),
  RAW_ANSWER,
]);

/** What the query of GET /tool-calls/{request_id} may say. */
export const LateQuery = z.object({
  wait_ms: z
    .int()
    .min(0)
    .max(30_000)
    .optional()
    .describe('Milliseconds to wait for pending calls. Default 0.')
    .meta({ examples: [25_000] }),
  until: z
    .enum(['all', 'any'])
    .optional()
    .describe('Which of them must have ended. Default `all`.')
    .meta({ examples: ['any'] }),
  format: TurnQuery.shape.format.describe(
    'Adds `format` and `messages`: the final results of calls that were answered as pending, as the provider wants them late.',
  ),
  raw: TurnQuery.shape.raw.describe('With `format`. `true`: answer with the messages only.'),
  scheduling: z
    .enum(SCHEDULINGS)
    .optional()
    .describe(
      'With `format=gemini`, for the Live API: `messages` hold a function response for each call, with this scheduling.',
    )
    .meta({ examples: ['WHEN_IDLE'] }),
});
