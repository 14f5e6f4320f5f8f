import type { ToolDescription } from '../contract/tool-description.ts';
import type { Tool } from './tool.ts';

/** A tool as the catalogue shows it. */
export const describeTool = (tool: Tool): ToolDescription => ({
  name: tool.name,
  description: tool.description,
  effects: tool.effects,
  input_schema: tool.inputSchema,
  output_schema: tool.outputSchema,
  limits: {
    timeout_ms: tool.timeoutMs,
    retries: tool.retries,
    concurrency: tool.concurrency,
    max_calls_per_session: null,
  },
  available: true,
  unavailable_reason: null,
  source: tool.source,
});
