import type { Tool } from 'recourse-server/tools/tool';
import type { ToolOverride } from 'recourse-server/tools/tool-override';

/** Gives tools their overrides: the same object again as long as tool and override are the same. */
export const createOverriding = (): ((tool: Tool, override: ToolOverride) => Tool) => {
  const known = new WeakMap<Tool, { readonly key: string; readonly tool: Tool }>();
  return (tool, override) => {
    const key = JSON.stringify({ ...override, enabled: undefined });
    if (key === '{}') return tool;
    const before = known.get(tool);
    if (before?.key === key) return before.tool;
    const overridden: Tool = { ...tool, ...toFacts(tool, override) };
    known.set(tool, { key, tool: overridden });
    return overridden;
  };
};

const toFacts = (tool: Tool, override: ToolOverride) => ({
  retries: override.retries ?? tool.retries,
  timeoutMs: override.timeoutMs ?? tool.timeoutMs,
  effects: override.effects ?? tool.effects,
  // null says something of its own: no limit.
  concurrency: override.concurrency === undefined ? tool.concurrency : override.concurrency,
  maxCallsPerSession: override.maxCallsPerSession === undefined ? tool.maxCallsPerSession : override.maxCallsPerSession,
  sequential: override.sequential ?? tool.sequential,
  polling: override.polling ?? tool.polling,
  background: override.background ?? tool.background,
  maxDurationMs: override.maxDurationMs ?? tool.maxDurationMs,
  gracefulErrors: override.gracefulErrors ?? tool.gracefulErrors,
});
