import { withoutCutOff } from './cut-off.ts';
import { type Answer, type AskedCall, defineDialect, foundIn } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { isArray, isObject, listOf, member, toAskedId, toAskedName } from './json-access.ts';

/** The AI SDK's ToolResultPart. */
export type ToolResultPart = {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: { readonly type: 'text' | 'error-text'; readonly value: string };
};

/** The AI SDK's ToolModelMessage that answers a turn. */
export type ToolModelMessage = { readonly role: 'tool'; readonly content: ToolResultPart[] };

/**
 * Vercel's AI SDK: `tool-call` parts (one, a list, or the `toolCalls` of a result), the message of the assistant that holds
 * them, or the messages of a response, of which the last is read; the chunks of Mastra too. All answers stand in one
 * message. What the provider has run (`providerExecuted`) is never answered.
 */
export const aiSdk = defineDialect({
  format: 'ai-sdk',
  spellings: ['ai-sdk'],
  readCalls: (body) => {
    const parts = findParts(body);
    return parts === null ? null : withoutCutOff(foundIn(parts, toAsked), body);
  },
  writeAnswers: (answers): readonly ToolModelMessage[] => [{ role: 'tool', content: answers.map(toPart) }],
  writeTurn: (calls) => ({
    role: 'assistant',
    content: calls.map((call) => ({
      type: 'tool-call',
      toolCallId: call.id,
      toolName: call.name,
      input: call.arguments,
    })),
  }),
  readMessage: (message) => listOf(message, 'content').flatMap(toReadAnswer),
});

const findParts = (body: unknown): readonly unknown[] | null => {
  if (isArray(body)) return findInLast(body.at(-1)) ?? body;
  if (member(body, 'type') === 'tool-call') return [body];
  const calls = member(body, 'toolCalls');
  return isArray(calls) ? calls : findInMessage(body);
};

const findInLast = (last: unknown): readonly unknown[] | null =>
  member(last, 'role') === 'assistant' ? findInMessage(last) : null;

const findInMessage = (message: unknown): readonly unknown[] | null => {
  const role = member(message, 'role');
  if (role !== undefined && role !== 'assistant') return null;
  const content = member(message, 'content');
  if (isArray(content)) return content;
  return role === 'assistant' && typeof content === 'string' ? [] : null;
};

const toAsked = (part: unknown): readonly AskedCall[] => {
  if (member(part, 'type') !== 'tool-call') return [];
  // Mastra puts the part into a chunk of its own.
  const given = isObject(member(part, 'payload')) ? member(part, 'payload') : part;
  if (member(given, 'providerExecuted') === true) return [];
  const id = member(given, 'toolCallId');
  const name = member(given, 'toolName');
  // Up to version 4 they were `args`.
  const input = member(given, 'input') ?? member(given, 'args');
  return [{ id: toAskedId(id), name: toAskedName(name), call: { id, name, arguments: input } }];
};

// The SDK refuses a part without a name.
const UNNAMED = 'unknown';

const toPart = ({ asked, success, text }: Answer): ToolResultPart => ({
  type: 'tool-result',
  toolCallId: String(asked.id),
  toolName: asked.name ?? UNNAMED,
  output: { type: success ? 'text' : 'error-text', value: text },
});

const toReadAnswer = (part: unknown): readonly ReadAnswer[] => {
  const output = member(part, 'output');
  const text = member(output, 'value');
  if (member(part, 'type') !== 'tool-result' || typeof text !== 'string') return [];
  const name = toAskedName(member(part, 'toolName'));
  return [{ id: toAskedId(member(part, 'toolCallId')), name, success: member(output, 'type') === 'text', text }];
};
