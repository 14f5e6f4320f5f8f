import type { ToolCall } from './tool-result.ts';

/** What stands in the conversation, oldest first. A tool's turn is what the model reads of a result. */
export type Message =
  | { readonly role: 'user' | 'assistant'; readonly text: string }
  | { readonly role: 'tool'; readonly call: ToolCall; readonly success: boolean; readonly text: string };

/** What a model does with its turn. */
export type Move =
  | { readonly kind: 'calls'; readonly thought: string; readonly calls: readonly ToolCall[] }
  | { readonly kind: 'answer'; readonly text: string };

/** Where a real agent would ask an LLM. May reject: then the run fails, for nothing is left to plan with. */
export type Model = (conversation: readonly Message[]) => Promise<Move>;
