import { isArray, isRecord, type JsonRecord, listAt, memberOf } from 'recourse-server/contract/json-record';
import {
  type Answer,
  defineDialect,
  type FoundCalls,
  foundIn,
  type ProviderCall,
  readProviderCall,
  withoutCutOff,
} from './define-dialect.ts';
import { formatOfCall, formatOfItems, isMessageOf } from './detect-format.ts';
import { type ImageType, type Part, writeImageBlocks } from './media.ts';

// Anthropic, Bedrock and Vercel's AI SDK: calls are blocks of a message's content, and one message answers all of them.

/** The calls among blocks; null where there are no blocks to look through. */
const readBlocks = (
  blocks: readonly unknown[] | null,
  body: unknown,
  toCalls: (block: unknown) => readonly ProviderCall[],
): FoundCalls | null => (blocks === null ? null : withoutCutOff(foundIn(blocks, toCalls), body));

/** The content of a message of the assistant; no blocks where it is a text. */
const contentOf = (message: unknown): readonly unknown[] | null => {
  const role = memberOf(message, 'role');
  if (role !== undefined && role !== 'assistant') return null;
  const content = memberOf(message, 'content');
  if (isArray(content)) return content;
  return role === 'assistant' && typeof content === 'string' ? [] : null;
};

/** Anthropic's MessageParam that answers a turn. */
export type ToolResultMessage = { readonly role: 'user'; readonly content: ToolResultBlock[] };

/** Anthropic's ToolResultBlockParam: a list where it holds images. */
type ToolResultBlock = {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content: string | ShownBlock[];
  readonly is_error?: true;
};

/** Anthropic's TextBlockParam and ImageBlockParam. */
type ShownBlock =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image';
      readonly source: { readonly type: 'base64'; readonly media_type: ImageType; readonly data: string };
    };

const isAnthropic = (body: JsonRecord): boolean => {
  const isMessage = memberOf(body, 'type') === 'message' && memberOf(body, 'role') === 'assistant';
  if (isMessage && isArray(memberOf(body, 'content')) && Object.hasOwn(body, 'stop_reason')) return true;
  return isMessageOf(body, 'anthropic');
};

/**
 * Anthropic messages: a Message, `{role: 'assistant', content}` or the content alone. All answers stand in one user
 * message. Blocks the provider executes itself (`server_tool_use`, `mcp_tool_use`) are never answered.
 */
export const anthropic = defineDialect({
  format: 'anthropic',
  marks: isAnthropic,
  reads: ['anthropic'],
  readCalls: (body) => readBlocks(isArray(body) ? body : contentOf(body), body, readAnthropicCalls),
  writeAnswers: (answers): readonly ToolResultMessage[] => [
    { role: 'user', content: answers.map(writeAnthropicResult) },
  ],
});

const readAnthropicCalls = (block: unknown): readonly ProviderCall[] =>
  memberOf(block, 'type') === 'tool_use'
    ? [readProviderCall(memberOf(block, 'id'), memberOf(block, 'name'), memberOf(block, 'input'))]
    : [];

const IMAGE_TYPES: readonly ImageType[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

const writeShown = (parts: readonly Part[]): ShownBlock[] | null =>
  writeImageBlocks<ShownBlock>(parts, IMAGE_TYPES, {
    text: (text) => ({ type: 'text', text }),
    image: ({ mimeType, data }) => ({ type: 'image', source: { type: 'base64', media_type: mimeType, data } }),
  });

const writeAnthropicResult = ({ call, failed, text, parts }: Answer): ToolResultBlock => {
  const content = (parts === null ? null : writeShown(parts)) ?? text;
  const block = { type: 'tool_result', tool_use_id: String(call.id), content } as const;
  return failed ? { ...block, is_error: true } : block;
};

/** Bedrock's Message that answers a turn. `status` stands on failures alone: not every model takes it. */
export type BedrockMessage = {
  readonly role: 'user';
  readonly content: {
    readonly toolResult: {
      readonly toolUseId: string;
      readonly content: { readonly text: string }[];
      readonly status?: 'error';
    };
  }[];
};

const isBedrock = (body: JsonRecord): boolean => {
  const message = memberOf(memberOf(body, 'output'), 'message');
  if (isArray(memberOf(message, 'content')) && memberOf(message, 'role') === 'assistant') return true;
  return isMessageOf(body, 'bedrock');
};

/**
 * Bedrock's Converse: the response, its message, or the content alone. All answers stand in one user message. What Bedrock
 * runs itself (`type: 'server_tool_use'`) is never answered. Images are not shown: the client takes bytes, which JSON has not.
 */
export const bedrock = defineDialect({
  format: 'bedrock',
  marks: isBedrock,
  reads: ['bedrock'],
  readCalls: (body) => readBlocks(findBedrockContent(body), body, readBedrockCalls),
  writeAnswers: (answers): readonly BedrockMessage[] => [{ role: 'user', content: answers.map(writeBedrockResult) }],
});

const findBedrockContent = (body: unknown): readonly unknown[] | null => {
  if (isArray(body)) return body;
  const message = memberOf(memberOf(body, 'output'), 'message') ?? body;
  return isArray(memberOf(message, 'content')) ? contentOf(message) : null;
};

const readBedrockCalls = (block: unknown): readonly ProviderCall[] => {
  const call = memberOf(block, 'toolUse');
  if (!isRecord(call) || memberOf(call, 'type') !== undefined) return [];
  return [readProviderCall(memberOf(call, 'toolUseId'), memberOf(call, 'name'), memberOf(call, 'input'))];
};

const writeBedrockResult = ({ call, failed, text }: Answer): BedrockMessage['content'][number] => {
  const head = { toolUseId: String(call.id), content: [{ text }] };
  return { toolResult: failed ? { ...head, status: 'error' } : head };
};

/** The AI SDK's ToolModelMessage that answers a turn. */
export type ToolModelMessage = {
  readonly role: 'tool';
  readonly content: {
    readonly type: 'tool-result';
    readonly toolCallId: string;
    readonly toolName: string;
    readonly output: { readonly type: 'text' | 'error-text'; readonly value: string };
  }[];
};

const isAiSdk = (body: JsonRecord): boolean =>
  isMessageOf(body, 'ai-sdk') || formatOfItems(listAt(body, 'toolCalls')) === 'ai-sdk' || isToolCallPart(body);

const isToolCallPart = (body: JsonRecord): boolean =>
  memberOf(body, 'type') === 'tool-call' && formatOfCall(body) === 'ai-sdk';

/**
 * Vercel's AI SDK: `tool-call` parts (one, a list, or the `toolCalls` of a result), the message of the assistant that holds
 * them, or the messages of a response, of which the last is read; the chunks of Mastra too. All answers stand in one
 * message. What the provider has run (`providerExecuted`) is never answered.
 */
export const aiSdk = defineDialect({
  format: 'ai-sdk',
  marks: isAiSdk,
  reads: ['ai-sdk'],
  readCalls: (body) => readBlocks(findAiSdkParts(body), body, readAiSdkCalls),
  writeAnswers: (answers): readonly ToolModelMessage[] => [{ role: 'tool', content: answers.map(writeAiSdkResult) }],
});

const findAiSdkParts = (body: unknown): readonly unknown[] | null => {
  if (isArray(body)) {
    const last = body.at(-1);
    return (memberOf(last, 'role') === 'assistant' ? contentOf(last) : null) ?? body;
  }
  if (memberOf(body, 'type') === 'tool-call') return [body];
  const calls = memberOf(body, 'toolCalls');
  return isArray(calls) ? calls : contentOf(body);
};

const readAiSdkCalls = (part: unknown): readonly ProviderCall[] => {
  if (memberOf(part, 'type') !== 'tool-call') return [];
  // Mastra puts the part into a chunk of its own.
  const call = isRecord(memberOf(part, 'payload')) ? memberOf(part, 'payload') : part;
  if (memberOf(call, 'providerExecuted') === true) return [];
  // Up to version 4 they were `args`.
  const args = memberOf(call, 'input') ?? memberOf(call, 'args');
  return [readProviderCall(memberOf(call, 'toolCallId'), memberOf(call, 'toolName'), args)];
};

const writeAiSdkResult = ({ call, failed, text }: Answer): ToolModelMessage['content'][number] => ({
  type: 'tool-result',
  toolCallId: String(call.id),
  // The SDK refuses a part without a name.
  toolName: call.name ?? 'unknown',
  output: { type: failed ? 'error-text' : 'text', value: text },
});
