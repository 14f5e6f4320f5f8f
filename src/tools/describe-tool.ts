import type { ToolDescription } from '../contract/tool-description.ts';
import type { ToolFacts } from './tool.ts';

/** A tool that serves, as the catalogue shows it. */
export const describeTool = (tool: ToolFacts): ToolDescription => ({
  name: tool.name,
  description: tool.description,
  effects: tool.effects,
  input_schema: tool.inputSchema,
  output_schema: tool.outputSchema,
  limits: {
    timeout_ms: tool.timeoutMs,
    retries: tool.retries,
    concurrency: tool.concurrency,
    max_calls_per_session: tool.maxCallsPerSession,
  },
  available: true,
  unavailable_reason: null,
  source: tool.source,
});

/** A tool that serves although a newer version of it cannot be loaded, for that reason. */
export const describeOutdated = (tool: ToolFacts, reason: string): ToolDescription => ({
  ...describeTool(tool),
  outdated_reason: reason,
});

/** A tool that serves, and what it talks to cannot be reached now, for that reason. */
export const describeUnreachable = (tool: ToolFacts, reason: string): ToolDescription => ({
  ...describeUnavailable(tool, reason),
  unreachable: true,
});

/** A tool that is known of and cannot be called, for that reason. */
export const describeUnavailable = (tool: ToolFacts, reason: string): ToolDescription => ({
  ...describeTool(tool),
  available: false,
  unavailable_reason: reason,
});
