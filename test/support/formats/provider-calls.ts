import type { DIALECTS } from '@recourse/dialects/dialects';

/** What a body is, its format, the body, and the calls that are read of it; null where it is none of the format. */
export type Row = readonly [string, Parameters<typeof DIALECTS.get>[0], unknown, readonly unknown[] | null];

// One call as each provider writes it.
export const CHAT_CALL = { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{"text":"a"}' } };
export const CUSTOM_CALL = { id: 'call_2', type: 'custom', custom: { name: 'echo', input: 'free text' } };
export const TOOL_USE = { type: 'tool_use', id: 'toolu_1', name: 'echo', input: { text: 'a' } };
export const ITEM = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'echo', arguments: '{"text":"a"}' };
export const PART = { functionCall: { name: 'echo', args: { text: 'a' } } };
export const TOOL_BLOCK = { toolUse: { toolUseId: 'tooluse_1', name: 'echo', input: { text: 'a' } } };
export const SDK_PART = { type: 'tool-call', toolCallId: 'call_1', toolName: 'echo', input: { text: 'a' } };
export const LANGCHAIN_CALL = { name: 'echo', args: { text: 'a' }, id: 'call_1', type: 'tool_call' };

// The same as an entry of `calls`.
export const AS_TEXT = { id: 'call_1', name: 'echo', arguments: '{"text":"a"}' };
export const AS_OBJECT = { id: 'call_1', name: 'echo', arguments: { text: 'a' } };
export const NO_ID = { id: undefined, name: 'echo', arguments: { text: 'a' } };
