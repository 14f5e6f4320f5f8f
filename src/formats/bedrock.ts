import { withoutCutOff } from './cut-off.ts';
import { type Answer, type AskedCall, defineDialect, foundIn } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { isArray, isObject, listOf, member, textOfBlocks, toAskedId, toAskedName } from './json-access.ts';

/** Bedrock's ToolResultBlock. `status` stands on failures alone: not every model takes it. */
export type BedrockToolResult = {
  readonly toolResult: {
    readonly toolUseId: string;
    readonly content: { readonly text: string }[];
    readonly status?: 'error';
  };
};

/** Bedrock's Message that answers a turn. */
export type BedrockMessage = { readonly role: 'user'; readonly content: BedrockToolResult[] };

/**
 * Bedrock's Converse: the response, its message, or the content alone. All answers stand in one user message. What Bedrock
 * runs itself (`type: 'server_tool_use'`) is never answered. Images are not shown: the client takes bytes, which JSON has not.
 */
export const bedrock = defineDialect({
  format: 'bedrock',
  spellings: ['bedrock'],
  readCalls: (body) => {
    const content = findContent(body);
    return content === null ? null : withoutCutOff(foundIn(content, toAsked), body);
  },
  writeAnswers: (answers): readonly BedrockMessage[] => [{ role: 'user', content: answers.map(toBlock) }],
  writeTurn: (calls) => ({
    role: 'assistant',
    content: calls.map((call) => ({ toolUse: { toolUseId: call.id, name: call.name, input: call.arguments } })),
  }),
  readMessage: (message) => listOf(message, 'content').flatMap(toReadAnswer),
});

const findContent = (body: unknown): readonly unknown[] | null => {
  if (isArray(body)) return body;
  const message = member(member(body, 'output'), 'message') ?? body;
  const role = member(message, 'role');
  const content = member(message, 'content');
  return isArray(content) && (role === undefined || role === 'assistant') ? content : null;
};

const toAsked = (block: unknown): readonly AskedCall[] => {
  const given = member(block, 'toolUse');
  if (!isObject(given) || member(given, 'type') !== undefined) return [];
  const id = member(given, 'toolUseId');
  const name = member(given, 'name');
  return [{ id: toAskedId(id), name: toAskedName(name), call: { id, name, arguments: member(given, 'input') } }];
};

const toBlock = ({ asked, success, text }: Answer): BedrockToolResult => {
  const head = { toolUseId: String(asked.id), content: [{ text }] };
  return { toolResult: success ? head : { ...head, status: 'error' } };
};

const toReadAnswer = (block: unknown): readonly ReadAnswer[] => {
  const result = member(block, 'toolResult');
  const text = textOfBlocks(member(result, 'content'));
  if (text === null) return [];
  const id = toAskedId(member(result, 'toolUseId'));
  return [{ id, name: null, success: member(result, 'status') !== 'error', text }];
};
