import type { ToolDescription } from './wire.ts';

/** What the conversation goes on with, by the format the model's message came in: one entry of the answer's `messages`. */
export type MessageOf = {
  readonly 'openai-chat': { role: 'tool'; tool_call_id: string; content: string };
  readonly 'openai-responses':
    | { type: 'function_call_output'; call_id: string; output: string }
    | { type: 'custom_tool_call_output'; call_id: string; output: string };
  /** One message for all calls. */
  readonly anthropic: {
    role: 'user';
    content: { type: 'tool_result'; tool_use_id: string; content: string; is_error?: true }[];
  };
  /** One content for all calls. `response` has `output` or `error`. */
  readonly gemini: {
    role: 'user';
    parts: { functionResponse: { id?: string; name: string; response: Record<string, unknown> } }[];
  };
  readonly vapi: { toolCallId: string; name?: string } & ({ result: string } | { error: string });
  readonly langchain: {
    type: 'tool';
    role: 'tool';
    content: string;
    tool_call_id: string;
    name?: string;
    status: 'success' | 'error';
  };
  /** `SUCCESS: …` or `ERROR: …`. */
  readonly text: string;
};

/** The formats of providers, and plain `text` observations for calls of the service's own form. */
export type MessageFormat = keyof MessageOf;

type Schema = Record<string, unknown>;
type ObjectSchema = Schema & { type: 'object' };

/** One entry of a catalogue: what a provider's request lists as its tools. */
export type ToolOf = {
  readonly native: ToolDescription;
  readonly 'openai-chat': {
    type: 'function';
    function: { name: string; description: string; parameters: Schema; strict: boolean };
  };
  readonly 'openai-responses': {
    type: 'function';
    name: string;
    description: string;
    parameters: Schema;
    strict: boolean;
  };
  readonly anthropic: { name: string; description: string; input_schema: ObjectSchema; strict?: true };
  /** One entry for all tools. */
  readonly gemini: { functionDeclarations: { name: string; description: string; parametersJsonSchema: Schema }[] };
  readonly mcp: {
    name: string;
    description: string;
    inputSchema: ObjectSchema;
    outputSchema?: ObjectSchema;
    annotations: { readOnlyHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean };
  };
};

export type CatalogueFormat = keyof ToolOf;
