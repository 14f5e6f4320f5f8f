import type { CatalogueFormat } from '../../contract/message-format.ts';
import { toPortableName } from '../../contract/portable-name.ts';
import type { ToolDescription } from '../../contract/tool-description.ts';
import { toGeminiSchema } from './gemini-schema.ts';
import { isOffered } from './is-offered.ts';
import { toObjectRoot } from './object-root.ts';
import { OPENAI_RULES } from './openai-rules.ts';
import type {
  AiSdkTool,
  BedrockTool,
  FunctionTool,
  GeminiTool,
  OpenaiChatTool,
  OpenaiResponsesTool,
  RealtimeTool,
} from './provider-tools.ts';
import { remembering } from './remembering.ts';
import { toStrictSchema } from './strict-schema.ts';
import { findAnthropicRefusal, toAnthropicTools } from './to-anthropic-tools.ts';
import { toMcpTools } from './to-mcp-tools.ts';

/** `strict`: where the provider can hold its model to the schema, and the schema can be said in its subset. */
export type SchemaStyle = 'plain' | 'strict';

type ProviderFormat = Exclude<CatalogueFormat, 'native'>;

const toOpenaiStrict = remembering((schema) => toStrictSchema(schema, OPENAI_RULES));
const toGeminiParameters = remembering((schema) => toGeminiSchema(toObjectRoot(schema)));

/** A tool that a provider would refuse, with all others of the request, and why. */
export type LeftOut = { readonly name: string; readonly reason: string };

export type ProviderCatalogue = {
  /** What goes into a provider's request as its tools: those that models are told of, under names it can carry. */
  readonly tools: readonly unknown[];
  readonly left_out?: readonly LeftOut[];
};

/** The catalogue as a provider's request wants it. */
export const toCatalogue = (
  tools: readonly ToolDescription[],
  format: ProviderFormat,
  style: SchemaStyle,
): ProviderCatalogue => {
  const offered = tools.filter(isOffered);
  const leftOut = HAS_CLAUDE.has(format) ? offered.flatMap(findAnthropicRefusal) : [];
  if (leftOut.length === 0) return { tools: WRITERS[format](offered, style) };
  const names = new Set(leftOut.map(({ name }) => name));
  return {
    tools: WRITERS[format](
      offered.filter(({ name }) => !names.has(name)),
      style,
    ),
    left_out: leftOut,
  };
};

// Whose request may go to a model of Anthropic's.
const HAS_CLAUDE: ReadonlySet<ProviderFormat> = new Set(['anthropic', 'bedrock'] as const);

/** Tools of Chat Completions. */
export const toOpenaiChatTools = (tools: readonly ToolDescription[], style: SchemaStyle): readonly OpenaiChatTool[] =>
  toOpenaiResponsesTools(tools, style).map(({ type, ...declared }) => ({ type, function: declared }));

/** Tools of the Responses API, whose own default is strict: what is not says so. */
export const toOpenaiResponsesTools = (
  tools: readonly ToolDescription[],
  style: SchemaStyle,
): readonly OpenaiResponsesTool[] =>
  tools.map(({ name, description, input_schema }) => {
    const strict = style === 'strict' ? toOpenaiStrict(input_schema) : null;
    return {
      type: 'function',
      name: toPortableName(name),
      description: cutDescription(description),
      parameters: strict ?? toObjectRoot(input_schema),
      strict: strict !== null,
    };
  });

/** All functions as one tool of Gemini, which has no strict schemas; no tool where there is none. */
export const toGeminiTools = (tools: readonly ToolDescription[]): readonly GeminiTool[] => {
  const functionDeclarations = tools.map(({ name, description, input_schema }) => ({
    name: toPortableName(name),
    description,
    parametersJsonSchema: toGeminiParameters(input_schema),
  }));
  return functionDeclarations.length === 0 ? [] : [{ functionDeclarations }];
};

const toDeclared = ({ name, description, input_schema }: ToolDescription) => ({
  name: toPortableName(name),
  description,
  parameters: toObjectRoot(input_schema),
});

const toFunctionTools = (tools: readonly ToolDescription[]): readonly FunctionTool[] =>
  tools.map((tool) => ({ type: 'function', function: toDeclared(tool) }));

const toRealtimeTools = (tools: readonly ToolDescription[]): readonly RealtimeTool[] =>
  tools.map((tool) => ({ type: 'function', ...toDeclared(tool) }));

const toBedrockTools = (tools: readonly ToolDescription[]): readonly BedrockTool[] =>
  tools.map(toDeclared).map(({ name, description, parameters }) => ({
    toolSpec: { name, ...(description === '' ? {} : { description }), inputSchema: { json: parameters } },
  }));

const toAiSdkTools = (tools: readonly ToolDescription[]): readonly AiSdkTool[] =>
  tools.map(toDeclared).map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    inputSchema: parameters,
  }));

// More was refused by the Chat Completions API when last reported (January 2025), with the whole request.
const MAX_OPENAI_DESCRIPTION = 1024;

const cutDescription = (text: string): string =>
  text.length <= MAX_OPENAI_DESCRIPTION
    ? text
    : `${text.slice(0, MAX_OPENAI_DESCRIPTION - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;

const WRITERS = {
  'openai-chat': toOpenaiChatTools,
  'openai-responses': toOpenaiResponsesTools,
  'openai-realtime': toRealtimeTools,
  anthropic: toAnthropicTools,
  gemini: toGeminiTools,
  bedrock: toBedrockTools,
  mistral: toFunctionTools,
  cohere: toFunctionTools,
  ollama: toFunctionTools,
  'ai-sdk': toAiSdkTools,
  mcp: toMcpTools,
} as const satisfies Readonly<
  Record<ProviderFormat, (tools: readonly ToolDescription[], style: SchemaStyle) => readonly unknown[]>
>;
