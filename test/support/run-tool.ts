import type { Tool, ToolContext } from '../../src/tools/tool.ts';

const ignore = (): void => {};
const SILENT: ToolContext['log'] = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/**
 * Calls a tool as the executor would, without any of its guards: the arguments go through the schema, and what the
 * handler gives or throws comes out as it is. Arguments the schema refuses throw a TypeError that lists the issues.
 */
export const runTool = async (
  tool: Tool,
  input: Readonly<Record<string, unknown>> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<unknown> => {
  const prepared = await tool.prepare(input);
  if (!prepared.ok) throw new TypeError(prepared.issues.map(({ path, message }) => `${path}: ${message}`).join('\n'));
  const context = { signal, session: null, callId: null, log: SILENT, retriesLeft: 3, isLastAttempt: false };
  return await prepared.invocation.run(context);
};
