import type { ToolDescription } from '../contract/tool-description.ts';
import { toPortableName } from '../contract/tool-names.ts';
import { createNameIndex, type NameIndex } from './name-index.ts';
import type { Tool, ToolFacts } from './tool.ts';
import type { ConcurrencyOf, PlacingOf, ToolOffer, UnavailableTool } from './tool-offer.ts';

/** The tools of the service by name. Names that a model sends are only ever keys of a Map here. */
export type ToolRegistry = {
  readonly find: (name: string) => Tool | undefined;
  /** The tool that providers are told of by this name: see `toPortableName`. */
  readonly findPortable: (portableName: string) => Tool | undefined;
  /** A tool that cannot be called, under its own name or the one that providers know; of several the first. */
  readonly findUnavailable: (name: string) => UnavailableTool | undefined;
  /** Tools that cannot be called, are not withheld on purpose, and whose name no serving tool has. */
  readonly listMissing: () => readonly UnavailableTool[];
  /** All tools, by name. */
  readonly list: () => readonly Tool[];
  /** The names of all tools, by name. The same object until something else is offered. */
  readonly names: () => NameIndex;
  /** All reducers, by name. A reducer is no tool: nothing else here knows of it. */
  readonly reducers: () => readonly Tool[];
  /** All tools and the unavailable ones as the catalogue shows them, by name; of one name, what serves comes first. */
  readonly describe: () => readonly ToolDescription[];
  /** Replaces all that was offered before, at once. Throws where names clash, and then changes nothing. */
  readonly offer: (offer: ToolOffer) => void;
  /** Calls the listener after each `offer`, whether or not it changed something; gives the way to end that. It must not throw. */
  readonly watch: (listener: () => void) => () => void;
};

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
): ToolRegistry => {
  const fixed = [...tools];
  const toState = (offer: ToolOffer) => {
    const all = [...fixed, ...offer.tools];
    const byName = toMap(all, 'tool');
    const isMissing = ({ facts, withheld }: UnavailableTool): boolean =>
      withheld === undefined && !byName.has(facts.name);
    const sorted = [...byName.values()].sort(compareNames);
    return {
      offer,
      byName,
      byPortable: toPortableMap(sorted),
      unavailable: toUnavailableMap(offer),
      missing: toolsOf(offer).filter(isMissing),
      sorted,
      names: createNameIndex(sorted.map(({ name }) => name)),
      reducers: [...toMap(all, 'reducer').values()].sort(compareNames),
    };
  };
  let state = toState({ tools: [], unavailable: [], outdated: new Map() });
  let descriptions: readonly ToolDescription[] | null = null;
  let placings = '';
  const watchers = new Set<() => void>();
  const describeAll = (): readonly ToolDescription[] => {
    const serving = state.sorted.map((tool) => {
      const placing = placingOf(tool);
      const described = describeServing({ ...tool, concurrency: concurrencyOf(tool) }, state.offer);
      return placing === null ? described : { ...described, placing };
    });
    const unavailable = toolsOf(state.offer).map(({ facts, reason }) => describeUnavailable(facts, reason));
    // A stable sort: of one name, what serves stays before what does not.
    return [...serving, ...unavailable].sort(compareNames);
  };
  return {
    find: (name) => state.byName.get(name),
    findPortable: (portableName) => state.byPortable.get(portableName),
    findUnavailable: (name) => state.unavailable.get(name),
    listMissing: () => state.missing,
    list: () => state.sorted,
    names: () => state.names,
    reducers: () => state.reducers,
    describe: () => {
      const now = state.sorted.map(placingOf).join();
      if (now !== placings) descriptions = null;
      placings = now;
      descriptions ??= describeAll();
      return descriptions;
    },
    offer: (offer) => {
      state = toState(offer);
      descriptions = null;
      for (const tell of watchers) tell();
    },
    watch: (listener) => {
      watchers.add(listener);
      return () => watchers.delete(listener);
    },
  };
};

/** The order of the catalogue: by name, in code units. */
const compareNames = (a: { readonly name: string }, b: { readonly name: string }): number => {
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
};

const toMap = (all: readonly Tool[], role: Tool['role']): ReadonlyMap<string, Tool> => {
  const byName = new Map<string, Tool>();
  for (const tool of all.filter((candidate) => candidate.role === role)) {
    const other = byName.get(tool.name);
    if (other !== undefined)
      throw new Error(`Two ${role}s are called '${tool.name}': one from ${other.source}, one from ${tool.source}.`);
    byName.set(tool.name, tool);
  }
  return byName;
};

const toPortableMap = (tools: readonly Tool[]): ReadonlyMap<string, Tool> => {
  const byPortable = new Map<string, Tool>();
  for (const tool of tools) {
    const portableName = toPortableName(tool.name);
    const other = byPortable.get(portableName);
    if (other !== undefined)
      throw new Error(
        `Two tools map to the portable name '${portableName}': '${other.name}' from ${other.source}, '${tool.name}' from ${tool.source}.`,
      );
    byPortable.set(portableName, tool);
  }
  return byPortable;
};

const toolsOf = ({ unavailable }: ToolOffer): readonly UnavailableTool[] =>
  unavailable.filter(({ facts }) => facts.role === 'tool');

const toUnavailableMap = (offer: ToolOffer): ReadonlyMap<string, UnavailableTool> => {
  const tools = toolsOf(offer).toReversed();
  // Of a map's entries the last one stays: a tool's own name counts more than one that only providers know it by.
  const byPortable = tools.map((tool) => [toPortableName(tool.facts.name), tool] as const);
  return new Map([...byPortable, ...tools.map((tool) => [tool.facts.name, tool] as const)]);
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
