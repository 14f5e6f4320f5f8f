import type { Tool } from 'recourse-server/tools/tool';
import { matchesPattern, specificityOf, type ToolOverride } from 'recourse-server/tools/tool-override';

const MOST_KNOWN = 10_000;

/** Name or pattern → override, in the order they are written in. */
export type ToolOverrides = ReadonlyMap<string, ToolOverride>;

/** All that is said of one tool. */
export type EffectiveOverride = {
  readonly members: ToolOverride;
  /** The name or pattern that switches it off; null = it is on. */
  readonly disabledBy: string | null;
};

/**
 * What holds for a name: each member as the most specific entry says it that names the member. A name comes before any
 * pattern, a pattern with more characters of its own before one with fewer, and of two alike the first.
 */
export const createOverrideLookup = (overrides: ToolOverrides): ((name: string) => EffectiveOverride) => {
  const ranked = [...overrides].toSorted(([one], [other]) => specificityOf(other) - specificityOf(one));
  const known = new Map<string, EffectiveOverride>();
  return (name) => {
    const found = known.get(name) ?? toEffective(ranked.filter(([pattern]) => matchesPattern(name, pattern)));
    // Names come from servers, which may rename their tools all the time.
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(name, found);
    return found;
  };
};

const toEffective = (entries: readonly (readonly [string, ToolOverride])[]): EffectiveOverride => {
  const [pattern = null, enabling = null] = entries.find(([, { enabled }]) => enabled !== undefined) ?? [];
  let members: ToolOverride = {};
  // The most specific is written last.
  for (const [, override] of entries.toReversed()) members = { ...members, ...override };
  return { members, disabledBy: enabling?.enabled === false ? pattern : null };
};

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
