import type { JsonSchema, ToolDescription } from '../contract/tool-description.ts';

const toTextSchema = (text: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: { text },
  required: ['text'],
  additionalProperties: false,
});

/** What GET /tools/echo answers, as the document shows it. */
export const TOOL_EXAMPLE: ToolDescription = {
  name: 'echo',
  description: 'Returns the given text unchanged. Use it to check that tool calls work.',
  effects: 'read',
  input_schema: toTextSchema({ type: 'string', description: 'Any text.' }),
  output_schema: toTextSchema({ type: 'string' }),
  limits: { timeout_ms: 30_000, retries: 3, concurrency: 512, max_calls_per_session: null },
  available: true,
  unavailable_reason: null,
  source: 'builtin',
};
