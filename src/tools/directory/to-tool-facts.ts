import type { InlineTool, ToolFacts } from '../tool.ts';

/** What is known of a tool wherever it runs, without its functions: what can go from one process to another. */
export const toToolFacts = (tool: InlineTool): ToolFacts => ({
  name: tool.name,
  description: tool.description,
  effects: tool.effects,
  inputSchema: tool.inputSchema,
  outputSchema: tool.outputSchema,
  retries: tool.retries,
  timeoutMs: tool.timeoutMs,
  gracefulErrors: tool.gracefulErrors,
  sequential: tool.sequential,
  concurrency: tool.concurrency,
  source: tool.source,
  exampleArguments: tool.exampleArguments,
  isolation: tool.isolation,
  env: tool.env,
});
