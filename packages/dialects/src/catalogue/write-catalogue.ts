import type { Effects } from 'recourse-server/contract/failure';
import type { CatalogueFormat } from 'recourse-server/contract/message-format';
import { isOffered, type JsonSchema, type ToolDescription } from 'recourse-server/contract/tool-description';
import { toPortableName } from 'recourse-server/contract/tool-names';
import type { SchemaMode } from 'recourse-server/routes/dialects';
import { toGeminiSchema } from './gemini-schema.ts';
import { toObjectRoot } from './object-root.ts';
import { isSchema, type ObjectSchema, remembering } from './schema-parts.ts';
import { ANTHROPIC_RULES, measureSchema, OPENAI_RULES, toStrictSchema } from './strict-schema.ts';

type Tools = readonly ToolDescription[];
type ProviderFormat = Exclude<CatalogueFormat, 'native'>;

/** A tool that a provider would refuse, with all others of the request, and why. */
type LeftOut = { readonly name: string; readonly reason: string };

type ProviderCatalogue = {
  /** What goes into a provider's request as its tools: those that models are told of, under names it can carry. */
  readonly tools: readonly unknown[];
  readonly left_out?: readonly LeftOut[];
};

/** The catalogue as a provider's request wants it. */
export const writeCatalogue = (tools: Tools, format: ProviderFormat, style: SchemaMode): ProviderCatalogue => {
  const offered = tools.filter(isOffered);
  const leftOut = HAS_CLAUDE.has(format) ? offered.flatMap(findAnthropicRefusal) : [];
  if (leftOut.length === 0) return { tools: WRITERS[format](offered, style) };
  const names = new Set(leftOut.map(({ name }) => name));
  const taken = offered.filter(({ name }) => !names.has(name));
  return { tools: WRITERS[format](taken, style), left_out: leftOut };
};

// Whose request may go to a model of Anthropic's.
const HAS_CLAUDE: ReadonlySet<ProviderFormat> = new Set(['anthropic', 'bedrock'] as const);

const declareTool = ({ name, description, input_schema }: ToolDescription) => ({
  name: toPortableName(name),
  description,
  parameters: toObjectRoot(input_schema),
});

/** Tools of Chat Completions: ChatCompletionFunctionTool. */
export const writeOpenaiChatTools = (tools: Tools, style: SchemaMode) =>
  writeOpenaiResponsesTools(tools, style).map(({ type, ...declared }) => ({ type, function: declared }));

const toOpenaiStrict = remembering((schema) => toStrictSchema(schema, OPENAI_RULES));

/** Tools of the Responses API (FunctionTool), whose own default is strict: what is not says so. */
export const writeOpenaiResponsesTools = (tools: Tools, style: SchemaMode) =>
  tools.map(({ name, description, input_schema }) => {
    const strict = style === 'strict' ? toOpenaiStrict(input_schema) : null;
    return {
      type: 'function' as const,
      name: toPortableName(name),
      description: cutDescription(description),
      parameters: strict ?? toObjectRoot(input_schema),
      strict: strict !== null,
    };
  });

// More was refused by the Chat Completions API when last reported (January 2025), with the whole request.
const MAX_OPENAI_DESCRIPTION = 1024;

const cutDescription = (text: string): string =>
  text.length <= MAX_OPENAI_DESCRIPTION
    ? text
    : `${text.slice(0, MAX_OPENAI_DESCRIPTION - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;

/** Tools of the Realtime API (RealtimeFunctionTool), which has no strict schemas. */
const writeRealtimeTools = (tools: Tools) => tools.map((tool) => ({ type: 'function', ...declareTool(tool) }));

/** Tools of Mistral, Cohere (version 2) and Ollama. */
export const writeFunctionTools = (tools: Tools) =>
  tools.map((tool) => ({ type: 'function' as const, function: declareTool(tool) }));

const toGeminiParameters = remembering((schema) => toGeminiSchema(toObjectRoot(schema)));

/** All functions as one tool of Gemini, which has no strict schemas; no tool where there is none. */
export const writeGeminiTools = (tools: Tools) => {
  const functionDeclarations = tools.map(({ name, description, input_schema }) => ({
    name: toPortableName(name),
    description,
    parametersJsonSchema: toGeminiParameters(input_schema),
  }));
  return functionDeclarations.length === 0 ? [] : [{ functionDeclarations }];
};

/** Tools as `toolConfig` of Bedrock's Converse takes them, which refuses a description that is empty. */
export const writeBedrockTools = (tools: Tools) =>
  tools.map(declareTool).map(({ name, description, parameters }) => ({
    toolSpec: { name, ...(description === '' ? {} : { description }), inputSchema: { json: parameters } },
  }));

/** Tools as the AI SDK hands them to a model: LanguageModelV4FunctionTool. */
const writeAiSdkTools = (tools: Tools) =>
  tools.map(declareTool).map(({ parameters, ...declared }) => ({
    type: 'function',
    ...declared,
    inputSchema: parameters,
  }));

// Of all strict tools of a request together: platform.claude.com, structured outputs, schema complexity.
const MOST_STRICT = { tools: 20, optional: 24, unions: 16 } as const;

const toAnthropicStrict = remembering((schema) => toStrictSchema(schema, ANTHROPIC_RULES));

type AnthropicTool = {
  readonly name: string;
  readonly description: string;
  readonly input_schema: ObjectSchema;
  readonly strict?: true;
};

/**
 * Tools of Anthropic's Messages API. Strict in their order as long as the limits of a request allow; what is over them, or
 * cannot be said in the subset, goes with its plain schema.
 */
export const writeAnthropicTools = (tools: Tools, style: SchemaMode): readonly AnthropicTool[] => {
  const used = { tools: 0, optional: 0, unions: 0 };
  return tools.map(({ name, description, input_schema }) => {
    const strict = style === 'strict' ? toAnthropicStrict(input_schema) : null;
    const head = { name: toPortableName(name), description };
    const plain = { ...head, input_schema: toObjectRoot(input_schema) };
    if (strict === null) return plain;
    const { optional, unions } = measureSchema(strict);
    const next = { tools: used.tools + 1, optional: used.optional + optional, unions: used.unions + unions };
    if (next.tools > MOST_STRICT.tools || next.optional > MOST_STRICT.optional || next.unions > MOST_STRICT.unions)
      return plain;
    Object.assign(used, next);
    const properties = isSchema(strict['properties']) ? strict['properties'] : {};
    return { ...head, input_schema: { ...strict, type: 'object', properties }, strict: true };
  });
};

/** Why Anthropic would refuse a request with this tool in it; nothing where it would not. */
export const findAnthropicRefusal = ({ name, input_schema }: ToolDescription): readonly LeftOut[] => {
  const key = Object.keys(toObjectRoot(input_schema).properties).find((one) => !PROPERTY_KEY.test(one));
  if (key === undefined) return [];
  return [
    {
      name,
      reason: `Anthropic does not accept the argument name '${key.slice(0, 80)}': it must match ${PROPERTY_KEY.source}.`,
    },
  ];
};

// The Messages API's own words: "Property keys should match pattern".
const PROPERTY_KEY = /^[a-zA-Z0-9_.-]{1,64}$/;

/**
 * The tools as `tools/list` of the Model Context Protocol shows them, in every revision since 2025-03-26: in order and
 * under their own names, which MCP carries as they are.
 */
export const writeMcpTools = (tools: Tools) =>
  tools.map(({ name, description, effects, input_schema, output_schema }) => ({
    name,
    description,
    // Arguments are an object always, also where a schema says so only by what it combines.
    inputSchema: { ...input_schema, type: 'object' },
    ...(isObjectSchema(output_schema) ? { outputSchema: output_schema } : {}),
    annotations: ANNOTATIONS[effects],
  }));

// What a client may assume of a tool without asking. An idempotent tool may overwrite and delete: what is harmless is only
// its repeat.
const ANNOTATIONS = {
  read: { readOnlyHint: true },
  idempotent: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  write: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
} as const satisfies Readonly<Record<Effects, Readonly<Record<string, boolean>>>>;

const isObjectSchema = (schema: JsonSchema | null): schema is JsonSchema => schema?.['type'] === 'object';

const WRITERS = {
  'openai-chat': writeOpenaiChatTools,
  'openai-responses': writeOpenaiResponsesTools,
  'openai-realtime': writeRealtimeTools,
  anthropic: writeAnthropicTools,
  gemini: writeGeminiTools,
  bedrock: writeBedrockTools,
  mistral: writeFunctionTools,
  cohere: writeFunctionTools,
  ollama: writeFunctionTools,
  'ai-sdk': writeAiSdkTools,
  mcp: writeMcpTools,
} as const satisfies Readonly<Record<ProviderFormat, (tools: Tools, style: SchemaMode) => readonly unknown[]>>;
