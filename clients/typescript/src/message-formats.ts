import type { ToolDescription } from './wire.ts';

/** What the conversation goes on with, by the format the model's message came in: one entry of the answer's `messages`. */
export type MessageOf = {
  /** A `function_call` of old is answered by `{role: 'function', name, content}`, which is not typed here. */
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
  /** Events to send, one for each call. */
  readonly 'openai-realtime': {
    type: 'conversation.item.create';
    item: { type: 'function_call_output'; call_id: string; output: string };
  };
  /** One message for all calls. */
  readonly bedrock: {
    role: 'user';
    content: { toolResult: { toolUseId: string; content: { text: string }[]; status?: 'error' } }[];
  };
  /** In the spelling that was asked: Mistral's client has `toolCallId`, its API `tool_call_id`. */
  readonly mistral: { role: 'tool'; name?: string; content: string } & (
    | { toolCallId: string }
    | { tool_call_id: string }
  );
  /** In the spelling that was asked: Cohere's client has `toolCallId`, its API `tool_call_id`. */
  readonly cohere: { role: 'tool'; content: string } & ({ toolCallId: string } | { tool_call_id: string });
  readonly ollama: { role: 'tool'; content: string; tool_name: string; tool_call_id?: string };
  /** One message for all calls. */
  readonly 'ai-sdk': {
    role: 'tool';
    content: {
      type: 'tool-result';
      toolCallId: string;
      toolName: string;
      output: { type: 'text' | 'error-text'; value: string };
    }[];
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

type FunctionTool = {
  type: 'function';
  function: { name: string; description: string; parameters: ObjectSchema };
};

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
  readonly 'openai-realtime': { type: 'function'; name: string; description: string; parameters: ObjectSchema };
  readonly bedrock: {
    toolSpec: { name: string; description?: string; inputSchema: { json: ObjectSchema } };
  };
  readonly mistral: FunctionTool;
  readonly cohere: FunctionTool;
  readonly ollama: FunctionTool;
  readonly 'ai-sdk': { type: 'function'; name: string; description: string; inputSchema: ObjectSchema };
  readonly mcp: {
    name: string;
    description: string;
    inputSchema: ObjectSchema;
    outputSchema?: ObjectSchema;
    annotations: { readOnlyHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean };
  };
};

export type CatalogueFormat = keyof ToolOf;
