import type { Issue } from '../../src/contract/tool-result.ts';
import type { InlineTool, ToolContext } from '../../src/tools/tool.ts';
import { isToldValue } from '../../src/tools/tool-values.ts';

const ignore = (): void => {};
const SILENT: ToolContext['log'] = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/**
 * Calls a tool as the executor would, without any of its guards: the arguments go through the schema, and what the
 * handler gives (`ok` and `empty` as they are) or throws comes out. Arguments that the input schema refuses, and
 * values that the output schema refuses, throw a TypeError that lists the issues.
 */
export const runTool = async (
  tool: InlineTool,
  input: Readonly<Record<string, unknown>> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<unknown> => {
  const prepared = await tool.prepare(input);
  if (!prepared.ok) throw toTypeError(prepared.issues);
  const context = {
    signal,
    session: null,
    tenant: null,
    caller: null,
    callId: null,
    log: SILENT,
    progress: ignore,
    part: ignore,
    effects: tool.effects,
    retriesLeft: 3,
    timeoutMs: tool.timeoutMs,
    isLastAttempt: false,
    idempotencyKey: null,
    effectId: 'e_0123456789abcdefghijkl',
    traceparent: null,
  };
  const given = await prepared.invocation.run(context);
  const value = typeof given === 'object' && given !== null && isToldValue(given) ? given.value : given;
  const issues = (await tool.checkOutput?.(value)) ?? [];
  if (issues.length > 0) throw toTypeError(issues);
  return given;
};

const toTypeError = (issues: readonly Issue[]): TypeError =>
  new TypeError(issues.map(({ path, message }) => `${path}: ${message}`).join('\n'));
