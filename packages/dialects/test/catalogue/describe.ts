import type { JsonSchema, ToolDescription } from 'recourse-server/internal/contract/tool-description.ts';

/** A tool as GET /tools shows it. */
export const describe = (
  name: string,
  inputSchema: JsonSchema = { type: 'object', properties: {}, additionalProperties: false },
  rest: Partial<ToolDescription> = {},
): ToolDescription => ({
  name,
  description: `Does ${name}.`,
  effects: 'read',
  input_schema: inputSchema,
  output_schema: null,
  limits: { timeout_ms: 1000, retries: 3, concurrency: null, max_calls_per_session: null },
  available: true,
  unavailable_reason: null,
  source: 'builtin',
  ...rest,
});
