import type { InlineTool } from '../tool.ts';
import type { LoadedFacts } from './load-tool-file.ts';
import type { SourcePlace } from './source-place.ts';

/** What is known of a tool wherever it runs, without its functions: what can go from one process to another. */
export const toLoadedFacts = (tool: InlineTool, place: SourcePlace | null = null): LoadedFacts => ({
  role: tool.role,
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
  maxCallsPerSession: tool.maxCallsPerSession,
  polling: tool.polling,
  breakerKey: tool.breakerKey,
  upstream: null,
  source: tool.source,
  exampleArguments: tool.exampleArguments,
  isolation: tool.isolation,
  env: tool.env,
  // A name is read wherever the arguments are; a function stays where it was declared.
  inlineOnly: tool.breakerKey === null && tool.breakerKeyOf !== null ? 'breakerKey' : null,
  holds: tool.close !== undefined,
  place,
});
