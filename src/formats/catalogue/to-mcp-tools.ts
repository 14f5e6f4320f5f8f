import type { Effects } from '../../contract/failure.ts';
import type { JsonSchema, ToolDescription } from '../../contract/tool-description.ts';

/** What a client may assume of a tool without asking; what is not known of it is left out. */
export type McpToolAnnotations = {
  readonly readOnlyHint: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
};

/** A JSON Schema whose root is an object: all that MCP takes for arguments. */
export type McpObjectSchema = JsonSchema & { readonly type: 'object' };

/** A tool as `tools/list` of the Model Context Protocol shows it, in every revision since 2025-03-26. */
export type McpTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: McpObjectSchema;
  readonly outputSchema?: McpObjectSchema;
  readonly annotations: McpToolAnnotations;
};

/** The tools as MCP lists them, in order and under their own names, which MCP carries as they are. */
export const toMcpTools = (tools: readonly ToolDescription[]): readonly McpTool[] => tools.map(toMcpTool);

const toMcpTool = ({ name, description, effects, input_schema, output_schema }: ToolDescription): McpTool => ({
  name,
  description,
  // Arguments are an object always, also where a schema says so only by what it combines.
  inputSchema: { ...input_schema, type: 'object' },
  ...(isObjectSchema(output_schema) ? { outputSchema: output_schema } : {}),
  annotations: ANNOTATIONS[effects],
});

// An idempotent tool may overwrite and delete: what is harmless is only its repeat.
const ANNOTATIONS = {
  read: { readOnlyHint: true },
  idempotent: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  write: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
} as const satisfies Readonly<Record<Effects, McpToolAnnotations>>;

const isObjectSchema = (schema: JsonSchema | null): schema is McpObjectSchema => schema?.['type'] === 'object';
