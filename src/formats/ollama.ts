import { toChatCall } from './chat-calls.ts';
import { withoutCutOff } from './cut-off.ts';
import { type Answer, type AskedCall, defineDialect, type FoundCalls, foundIn } from './define-dialect.ts';
import { isArray, isObject, member, toAskedId, toAskedName } from './json-access.ts';
import { isFailureText } from './observation.ts';

/** Ollama's message for one answer. Older servers know the name alone; the id stands where the call had one. */
export type OllamaToolMessage = {
  readonly role: 'tool';
  readonly content: string;
  readonly tool_name: string;
  readonly tool_call_id?: string;
};

/** Ollama: the whole answer of `/api/chat`, its message, or the calls alone. */
export const ollama = defineDialect({
  format: 'ollama',
  spellings: ['openai-chat'],
  readCalls: (body) => {
    const message = member(body, 'message');
    const found = readMessage(isObject(message) ? message : body);
    return found === null ? null : withoutCutOff(found, body);
  },
  writeAnswers: (answers) => answers.map(toMessage),
  writeTurn: (calls) => ({
    role: 'assistant',
    content: '',
    tool_calls: calls.map((call) => ({ id: call.id, function: { name: call.name, arguments: call.arguments } })),
  }),
  readMessage: (message) => {
    const text = member(message, 'content');
    if (member(message, 'role') !== 'tool' || typeof text !== 'string') return [];
    const id = toAskedId(member(message, 'tool_call_id'));
    return [{ id, name: toAskedName(member(message, 'tool_name')), success: !isFailureText(text), text }];
  },
});

const readMessage = (body: unknown): FoundCalls<AskedCall> | null => {
  const calls = isArray(body) ? body : member(body, 'tool_calls');
  if (isArray(calls)) return foundIn(calls, (item) => [toChatCall(item)]);
  return member(body, 'role') === 'assistant' ? { entries: [], calls: [] } : null;
};

// It is matched by its name.
const UNNAMED = 'unknown';

const toMessage = ({ asked, text }: Answer): OllamaToolMessage => ({
  role: 'tool',
  content: text,
  tool_name: asked.name ?? UNNAMED,
  ...(asked.id === '' ? {} : { tool_call_id: String(asked.id) }),
});
