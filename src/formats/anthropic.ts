import { withoutCutOff } from './cut-off.ts';
import { type Answer, type AskedCall, defineDialect, foundIn } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { type ImageType, toImageBlocks } from './images.ts';
import { isArray, listOf, member, textOfBlocks, toAskedId, toAskedName } from './json-access.ts';
import type { Part } from './media.ts';

/** Anthropic's TextBlockParam and ImageBlockParam. */
export type ShownBlock =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image';
      readonly source: { readonly type: 'base64'; readonly media_type: ImageType; readonly data: string };
    };

/** Anthropic's ToolResultBlockParam: a list where it holds images. */
export type ToolResultBlock = {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content: string | ShownBlock[];
  readonly is_error?: true;
};

/** Anthropic's MessageParam that answers a turn. */
export type ToolResultMessage = { readonly role: 'user'; readonly content: ToolResultBlock[] };

/**
 * Anthropic messages: a Message, `{role: 'assistant', content}` or the content alone. All answers stand in one user
 * message. Blocks the provider executes itself (`server_tool_use`, `mcp_tool_use`) are never answered.
 */
export const anthropic = defineDialect({
  format: 'anthropic',
  spellings: ['anthropic'],
  readCalls: (body) => {
    const content = findContent(body);
    return content === null ? null : withoutCutOff(foundIn(content, toAsked), body);
  },
  writeAnswers: (answers): readonly ToolResultMessage[] => [{ role: 'user', content: answers.map(toBlock) }],
  writeTurn: (calls) => ({
    role: 'assistant',
    content: calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: call.arguments })),
  }),
  readMessage: (message) => listOf(message, 'content').flatMap(toReadAnswer),
});

const findContent = (body: unknown): readonly unknown[] | null => {
  if (isArray(body)) return body;
  const role = member(body, 'role');
  if (role !== undefined && role !== 'assistant') return null;
  const content = member(body, 'content');
  if (isArray(content)) return content;
  return role === 'assistant' && typeof content === 'string' ? [] : null;
};

const toAsked = (block: unknown): readonly AskedCall[] => {
  if (member(block, 'type') !== 'tool_use') return [];
  const id = member(block, 'id');
  const name = member(block, 'name');
  return [{ id: toAskedId(id), name: toAskedName(name), call: { id, name, arguments: member(block, 'input') } }];
};

const IMAGE_TYPES: readonly ImageType[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

const toShown = (parts: readonly Part[]): ShownBlock[] | null =>
  toImageBlocks<ShownBlock>(parts, IMAGE_TYPES, {
    text: (text) => ({ type: 'text', text }),
    image: ({ mimeType, data }) => ({ type: 'image', source: { type: 'base64', media_type: mimeType, data } }),
  });

const toBlock = ({ asked, success, text, parts }: Answer): ToolResultBlock => {
  const content = (parts === null ? null : toShown(parts)) ?? text;
  const block = { type: 'tool_result', tool_use_id: String(asked.id), content } as const;
  return success ? block : { ...block, is_error: true };
};

const toReadAnswer = (block: unknown): readonly ReadAnswer[] => {
  const content = member(block, 'content');
  const text = textOfBlocks(content) ?? content;
  if (member(block, 'type') !== 'tool_result' || typeof text !== 'string') return [];
  const id = toAskedId(member(block, 'tool_use_id'));
  return [{ id, name: null, success: member(block, 'is_error') !== true, text }];
};
