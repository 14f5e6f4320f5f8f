import type { Tool } from 'recourse-server/tools/tool';
import { findAsked, matchesPattern, specificityOf, type ToolOverride } from 'recourse-server/tools/tool-override';
import { placeEffectId } from './effect-id-place.ts';

/** Name or pattern → override, in the order they are written in. */
export type ToolOverrides = ReadonlyMap<string, ToolOverride>;

/**
 * All that is said of one tool. `disabledBy`: the name or pattern that switches it off; null = it is on. `effectIdBy`: the one
 * that says where its effect id goes; null = none does.
 */
export type EffectiveOverride = {
  readonly members: ToolOverride;
  readonly disabledBy: string | null;
  readonly effectIdBy: string | null;
};

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
    const [effectIdBy = null] = entries.find(([, { effectId }]) => effectId !== undefined) ?? [];
    return { members, disabledBy: enabling?.enabled === false ? pattern : null, effectIdBy };
  };
  return (name) => {
    const override = found.get(name) ?? find(name);
    // Names come from servers, which may rename their tools all the time.
    if (found.size >= MOST_REMEMBERED) found.clear();
    found.set(name, override);
    return override;
  };
};

/**
 * Gives tools their overrides: the same object again as long as tool and override are the same. A text: why the override does not
 * fit the tool, which must not serve without it.
 */
export const createOverriding = (): ((tool: Tool, override: EffectiveOverride) => Tool | string) => {
  const overridden = new WeakMap<Tool, { readonly key: string; readonly next: Tool | string }>();
  return (tool, { members: { enabled: _catalogue, effectId, reconcile, ...override }, effectIdBy }) => {
    // null says something of its own: no limit.
    const stated = Object.entries(override).filter(([, value]) => value !== undefined);
    if (stated.length === 0 && effectId === undefined && reconcile === undefined) return tool;
    const key = JSON.stringify([stated, effectId, effectIdBy, reconcile]);
    const before = overridden.get(tool);
    if (before?.key === key) return before.next;
    const changed: Tool = { ...tool, ...Object.fromEntries(stated), reconcileBy: reconcile ?? tool.reconcileBy };
    const placed = effectId === undefined ? changed : placeEffectId(changed, effectId);
    const next = typeof placed === 'string' ? `tools['${effectIdBy}'].effectId does not fit it: ${placed}` : placed;
    overridden.set(tool, { key, next });
    return next;
  };
};

/**
 * What keeps writes of these tools from being looked for as the configuration file says. `areAll`: no tool is to come that one of
 * them could ask.
 */
export const findUnasked = (tools: readonly Tool[], areAll: boolean) => {
  const byName = new Map(tools.filter(({ role }) => role === 'tool').map((tool) => [tool.name, tool]));
  const find = (name: string): Pick<Tool, 'effects'> | undefined => byName.get(name) ?? (areAll ? undefined : TO_COME);
  return tools.flatMap((tool) => {
    const problem = tool.reconcileBy === null ? null : findAsked(tool, tool.reconcileBy, find);
    return typeof problem === 'string' ? [{ tool: tool.name, problem }] : [];
  });
};

const TO_COME = { effects: 'read' } as const;
