import type { ToolDescription } from '../contract/tool-description.ts';
import { toPortableName } from '../contract/tool-names.ts';
import { createNameIndex, type NameIndex } from './name-index.ts';
import type { Tool, ToolFacts } from './tool.ts';
import type { ConcurrencyOf, PlacingOf, ToolOffer, UnavailableTool } from './tool-offer.ts';

/** The tools of the service by name. Names that a model sends are only ever keys of a Map here. */
export type ToolRegistry = ReturnType<typeof createToolRegistry>;

/**
 * Throws where two tools, or two reducers, share a name, and names both sources: a silent winner would be the wrong one.
 * So it does where two tools come to one portable name: a model that calls it could mean either.
 * `concurrencyOf`: what the catalogue shows where the service limits a tool further than it asks for. `placingOf`: where a
 * tool's calls run; it is asked at each reading, for it changes with how tools behave.
 */
export const createToolRegistry = (
  tools: Iterable<Tool>,
  concurrencyOf: ConcurrencyOf = ({ concurrency }) => concurrency,
  placingOf: PlacingOf = () => null,
) => {
  const fixed = [...tools];
  let state = indexOffer(fixed, { tools: [], unavailable: [], outdated: new Map() });
  let descriptions: readonly ToolDescription[] | null = null;
  let placings = '';
  const watchers = new Set<() => void>();
  const describeAll = (): readonly ToolDescription[] => {
    const serving = state.sorted.map((tool) => {
      const placing = placingOf(tool);
      const described = describeServing({ ...tool, concurrency: concurrencyOf(tool) }, state.offer);
      return placing === null ? described : { ...described, placing };
    });
    const unavailable = state.unavailable.map(({ facts, reason }) => describeUnavailable(facts, reason));
    // A stable sort: of one name, what serves stays before what does not.
    return [...serving, ...unavailable].sort(compareNames);
  };
  return {
    find: (name: string): Tool | undefined => state.byName.get(name),
    /** The tool that providers are told of by this name: see `toPortableName`. */
    findPortable: (portableName: string): Tool | undefined => state.byPortable.get(portableName),
    /** A tool that cannot be called, under its own name or the one that providers know; of several the first. */
    findUnavailable: (name: string): UnavailableTool | undefined => state.unavailableByName.get(name),
    /** Tools that cannot be called, are not withheld on purpose, and whose name no serving tool has. */
    listMissing: (): readonly UnavailableTool[] => state.missing,
    /** All tools, by name. */
    list: (): readonly Tool[] => state.sorted,
    /** The names of all tools, by name. The same object until something else is offered. */
    names: (): NameIndex => state.names,
    /** All reducers, by name. A reducer is no tool: only this method returns it. */
    reducers: (): readonly Tool[] => state.reducers,
    /** All tools and the unavailable ones as the catalogue shows them, by name; of one name, what serves comes first. */
    describe: (): readonly ToolDescription[] => {
      const now = state.sorted.map(placingOf).join();
      if (now !== placings) descriptions = null;
      placings = now;
      descriptions ??= describeAll();
      return descriptions;
    },
    /** Replaces all that was offered before, at once. Throws where names clash, and then changes nothing. */
    offer: (offer: ToolOffer): void => {
      state = indexOffer(fixed, offer);
      descriptions = null;
      for (const notify of watchers) notify();
    },
    /** Calls the listener after each `offer`, whether or not it changed something; gives the way to end that. It must not throw. */
    watch: (listener: () => void): (() => void) => {
      watchers.add(listener);
      return () => void watchers.delete(listener);
    },
  };
};

const indexOffer = (fixed: readonly Tool[], offer: ToolOffer) => {
  const all = [...fixed, ...offer.tools];
  const byName = indexByName(all, 'tool');
  const sorted = [...byName.values()].sort(compareNames);
  const unavailable = offer.unavailable.filter(({ facts }) => facts.role === 'tool');
  return {
    offer,
    byName,
    byPortable: indexByPortableName(sorted),
    unavailable,
    unavailableByName: indexUnavailable(unavailable.toReversed()),
    missing: unavailable.filter(({ facts, withheld }) => withheld === undefined && !byName.has(facts.name)),
    sorted,
    names: createNameIndex(sorted.map(({ name }) => name)),
    reducers: [...indexByName(all, 'reducer').values()].sort(compareNames),
  };
};

// Of a map's entries the last one stays: a tool's own name counts more than one that only providers know it by.
const indexUnavailable = (lastFirst: readonly UnavailableTool[]): ReadonlyMap<string, UnavailableTool> =>
  new Map([
    ...lastFirst.map((tool) => [toPortableName(tool.facts.name), tool] as const),
    ...lastFirst.map((tool) => [tool.facts.name, tool] as const),
  ]);

/** The order of the catalogue: by name, in code units. */
const compareNames = (a: { readonly name: string }, b: { readonly name: string }): number => {
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
};

const indexByName = (all: readonly Tool[], role: Tool['role']): ReadonlyMap<string, Tool> =>
  indexBy(
    all.filter((tool) => tool.role === role),
    ({ name }) => name,
    (name, one, other) => `Two ${role}s are called '${name}': one from ${one.source}, one from ${other.source}.`,
  );

const indexByPortableName = (tools: readonly Tool[]): ReadonlyMap<string, Tool> =>
  indexBy(
    tools,
    ({ name }) => toPortableName(name),
    (name, one, other) =>
      `Two tools map to the portable name '${name}': '${one.name}' from ${one.source}, '${other.name}' from ${other.source}.`,
  );

/** Throws what `explain` says of the first two tools with one key. */
const indexBy = (
  tools: readonly Tool[],
  keyOf: (tool: Tool) => string,
  explain: (key: string, one: Tool, other: Tool) => string,
): ReadonlyMap<string, Tool> => {
  const index = new Map<string, Tool>();
  for (const tool of tools) {
    const key = keyOf(tool);
    const earlier = index.get(key);
    if (earlier !== undefined) throw new Error(explain(key, earlier, tool));
    index.set(key, tool);
  }
  return index;
};

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
    ...(tool.background === 'never' ? {} : { max_duration_ms: tool.maxDurationMs }),
  },
  ...(tool.background === 'never' ? {} : { background: tool.background }),
  available: true,
  unavailable_reason: null,
  source: tool.source,
});

const describeUnavailable = (tool: ToolFacts, reason: string): ToolDescription => ({
  ...describeTool(tool),
  available: false,
  unavailable_reason: reason,
});

/** It serves; unless what it talks to is down, or a newer version of it cannot be loaded, it serves without a word. */
const describeServing = (tool: Tool, { outdated, unreachable }: ToolOffer): ToolDescription => {
  const down = unreachable?.get(tool.name);
  if (down !== undefined) return { ...describeUnavailable(tool, down), unreachable: true };
  const reason = outdated.get(tool.name);
  return reason === undefined ? describeTool(tool) : { ...describeTool(tool), outdated_reason: reason };
};
