import type { JsonSchema } from '../../contract/tool-description.ts';
import type { ObjectSchema } from './object-root.ts';

/** A tool as Chat Completions takes it: ChatCompletionFunctionTool. */
export type OpenaiChatTool = {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: JsonSchema;
    readonly strict: boolean;
  };
};

/** A tool as the Responses API takes it: FunctionTool. */
export type OpenaiResponsesTool = {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly strict: boolean;
};

/** A tool as Anthropic's Messages API takes it. */
export type AnthropicTool = {
  readonly name: string;
  readonly description: string;
  readonly input_schema: ObjectSchema;
  readonly strict?: true;
};

/** All functions of a request to Gemini: one Tool. */
export type GeminiTool = {
  readonly functionDeclarations: {
    readonly name: string;
    readonly description: string;
    readonly parametersJsonSchema: JsonSchema;
  }[];
};

/** A tool as Mistral, Cohere (version 2) and Ollama take it. */
export type FunctionTool = {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: ObjectSchema };
};

/** A tool as a session of OpenAI's Realtime API takes it: RealtimeFunctionTool. */
export type RealtimeTool = {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  readonly parameters: ObjectSchema;
};

/** A tool as `toolConfig` of Bedrock's Converse takes it, which refuses a description that is empty. */
export type BedrockTool = {
  readonly toolSpec: {
    readonly name: string;
    readonly description?: string;
    readonly inputSchema: { readonly json: ObjectSchema };
  };
};

/** A tool as the AI SDK hands it to a model: LanguageModelV4FunctionTool. */
export type AiSdkTool = {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
};
