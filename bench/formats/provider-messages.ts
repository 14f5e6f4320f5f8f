/** What a model asks for: a call of `echo` for each text. */
export type AskedTurn = { readonly texts: readonly string[] };

// As long as the providers' own: a prefix and 24 characters.
const toProviderId = (prefix: string, index: number): string => `${prefix}_01${String(index).padStart(22, '0')}`;

export const toToolUseId = (index: number): string => toProviderId('toolu', index);
export const toChatCallId = (index: number): string => toProviderId('call', index);

/** The message of a model as Anthropic's API answers it, whole. */
export const toAnthropicMessage = ({ texts }: AskedTurn): object => ({
  id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5-20250929',
  content: texts.map((text, index) => ({
    type: 'tool_use',
    id: toToolUseId(index),
    name: 'echo',
    input: { text },
  })),
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: {
    input_tokens: 384,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 67,
    service_tier: 'standard',
  },
});

/** The assistant message of an OpenAI chat completion; its arguments are a string of JSON. */
export const toChatMessage = ({ texts }: AskedTurn): object => ({
  role: 'assistant',
  content: null,
  tool_calls: texts.map((text, index) => ({
    id: toChatCallId(index),
    type: 'function',
    function: { name: 'echo', arguments: JSON.stringify({ text }) },
  })),
  refusal: null,
  annotations: [],
});
