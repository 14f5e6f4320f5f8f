/** One call of a model's message, as far as an answer and a comparison need it. */
export type MessageCall = {
  /** "" where the message has none. */
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  /** `custom`: of OpenAI's custom tools, whose answers have a type of their own. `camel`: as a provider's client spells it. */
  readonly manner: 'custom' | 'camel' | null;
};

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The calls of a provider's message, in their order, for answers that the service cannot give; the service itself reads
 * messages with more care. Empty where none is recognised.
 */
export const readCalls = (message: unknown): readonly MessageCall[] => {
  // As it is sent: messages may be objects of classes.
  const found = findCalls(JSON.parse(JSON.stringify(message ?? null)), null);
  // LangChain's messages hold each call again as the provider wrote it.
  return found.filter(({ id }, place) => id === '' || found.findIndex((call) => call.id === id) === place);
};

const findCalls = (value: unknown, key: string | null): readonly MessageCall[] => {
  if (Array.isArray(value)) return value.flatMap((item) => findCalls(item, key));
  if (!isObject(value)) return [];
  const call = toCall(value, key);
  return call === null ? Object.entries(value).flatMap(([name, inner]) => findCalls(inner, name)) : [call];
};

const toCall = (value: Members, key: string | null): MessageCall | null => {
  for (const holder of HOLDERS) {
    const inner = value[holder];
    if (isObject(inner)) return readCall({ id: value['id'], ...inner }, holder === 'custom' ? 'custom' : mannerOf(key));
  }
  const type = String(value['type']);
  if (!TYPES.includes(type) || value['providerExecuted'] === true) return null;
  return readCall(value, type === 'custom_tool_call' ? 'custom' : null);
};

// Chat completions and their relatives, Gemini in both spellings, Bedrock, custom tools of chat completions.
const HOLDERS = ['function', 'functionCall', 'function_call', 'toolUse', 'custom'];
// OpenAI's items, Anthropic, the AI SDK, LangChain.
const TYPES = ['function_call', 'custom_tool_call', 'tool_use', 'tool-call', 'tool_call', 'invalid_tool_call'];

const mannerOf = (key: string | null): MessageCall['manner'] => (key === 'toolCalls' ? 'camel' : null);

const readCall = (members: Members, manner: MessageCall['manner']): MessageCall | null => {
  const name = members['toolName'] ?? members['name'];
  if (typeof name !== 'string') return null;
  const id = members['call_id'] ?? members['toolUseId'] ?? members['toolCallId'] ?? members['id'] ?? '';
  return { id: String(id), name, arguments: members['arguments'] ?? members['args'] ?? members['input'], manner };
};

/** The same text for calls of one tool with the same arguments, written as an object or as JSON, in any order of members. */
export const toFingerprint = ({ name, arguments: given }: { readonly name: string; readonly arguments?: unknown }) =>
  JSON.stringify([name, sortMembers(parse(given ?? {}))]);

const parse = (given: unknown): unknown => {
  if (typeof given !== 'string') return given;
  try {
    return JSON.parse(given);
  } catch (error) {
    if (error instanceof SyntaxError) return given;
    throw error;
  }
};

const sortMembers = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (!isObject(value)) return value;
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, inner]) => [name, sortMembers(inner)]));
};
