import type { Tool } from 'recourse-server/tools/tool';
import { matchesPattern, specificityOf, type ToolOverride } from 'recourse-server/tools/tool-override';

/** Name or pattern → override, in the order they are written in. */
export type ToolOverrides = ReadonlyMap<string, ToolOverride>;

/** All that is said of one tool. `disabledBy`: the name or pattern that switches it off; null = it is on. */
export type EffectiveOverride = { readonly members: ToolOverride; readonly disabledBy: string | null };

const MOST_REMEMBERED = 10_000;

/**
 * What holds for a name: each member as the most specific entry says it that names the member. A name comes before any
 * pattern, a pattern with more characters of its own before one with fewer, and of two alike the first.
 */
export const createOverrideLookup = (overrides: ToolOverrides): ((name: string) => EffectiveOverride) => {
  const ranked = [...overrides].toSorted(([one], [other]) => specificityOf(other) - specificityOf(one));
  const found = new Map<string, EffectiveOverride>();
  const find = (name: string): EffectiveOverride => {
    const entries = ranked.filter(([pattern]) => matchesPattern(name, pattern));
    const [pattern = null, enabling = null] = entries.find(([, { enabled }]) => enabled !== undefined) ?? [];
    // The most specific is written last.
    const members: ToolOverride = Object.assign({}, ...entries.map(([, override]) => override).toReversed());
    return { members, disabledBy: enabling?.enabled === false ? pattern : null };
  };
  return (name) => {
    const override = found.get(name) ?? find(name);
    // Names come from servers, which may rename their tools all the time.
    if (found.size >= MOST_REMEMBERED) found.clear();
    found.set(name, override);
    return override;
  };
};

/** Gives tools their overrides: the same object again as long as tool and override are the same. */
export const createOverriding = (): ((tool: Tool, override: ToolOverride) => Tool) => {
  const overridden = new WeakMap<Tool, { readonly key: string; readonly tool: Tool }>();
  return (tool, { enabled: _catalogue, ...override }) => {
    // null says something of its own: no limit.
    const stated = Object.entries(override).filter(([, value]) => value !== undefined);
    if (stated.length === 0) return tool;
    const key = JSON.stringify(stated);
    const before = overridden.get(tool);
    if (before?.key === key) return before.tool;
    const next: Tool = { ...tool, ...Object.fromEntries(stated) };
    overridden.set(tool, { key, tool: next });
    return next;
  };
};
