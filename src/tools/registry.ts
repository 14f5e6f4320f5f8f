import { toPortableName } from '../contract/portable-name.ts';
import type { ToolDescription } from '../contract/tool-description.ts';
import { compareNames } from './compare-names.ts';
import { describeOffer } from './describe-offer.ts';
import { createNameIndex, type NameIndex } from './name-index.ts';
import type { Tool } from './tool.ts';
import type { ConcurrencyOf, PlacingOf, ToolOffer, UnavailableTool } from './tool-offer.ts';

/** The tools of the service by name. Names that a model sends are only ever keys of a Map here. */
export type ToolRegistry = {
  readonly find: (name: string) => Tool | undefined;
  /** The tool that providers are told of by this name: see `toPortableName`. */
  readonly findPortable: (portableName: string) => Tool | undefined;
  /** A tool that cannot be called, under its own name or the one that providers know; of several the first. */
  readonly findUnavailable: (name: string) => UnavailableTool | undefined;
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
    const reducers = toMap(all, 'reducer');
    const byPortable = toPortableMap(byName);
    const unavailable = toUnavailableMap(offer);
    const sorted = toSorted(byName);
    const names = createNameIndex(sorted.map(({ name }) => name));
    return { offer, byName, byPortable, unavailable, sorted, names, reducers: toSorted(reducers) };
  };
  let state = toState({ tools: [], unavailable: [], outdated: new Map() });
  let descriptions: readonly ToolDescription[] | null = null;
  let placings = '';
  return {
    find: (name) => state.byName.get(name),
    findPortable: (portableName) => state.byPortable.get(portableName),
    findUnavailable: (name) => state.unavailable.get(name),
    list: () => state.sorted,
    names: () => state.names,
    reducers: () => state.reducers,
    describe: () => {
      const now = state.sorted.map(placingOf).join();
      if (now !== placings) descriptions = null;
      placings = now;
      descriptions ??= describeOffer(state.sorted, state.offer, concurrencyOf, placingOf);
      return descriptions;
    },
    offer: (offer) => {
      state = toState(offer);
      descriptions = null;
    },
  };
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

const toPortableMap = (byName: ReadonlyMap<string, Tool>): ReadonlyMap<string, Tool> => {
  const byPortable = new Map<string, Tool>();
  for (const tool of byName.values()) {
    const portableName = toPortableName(tool.name);
    const other = byPortable.get(portableName);
    if (other !== undefined)
      throw new Error(
        `Two tools come to the portable name '${portableName}': '${other.name}' from ${other.source}, '${tool.name}' from ${tool.source}.`,
      );
    byPortable.set(portableName, tool);
  }
  return byPortable;
};

const toUnavailableMap = ({ unavailable }: ToolOffer): ReadonlyMap<string, UnavailableTool> => {
  const tools = unavailable.filter(({ facts }) => facts.role === 'tool');
  // Of a map's entries the last one stays: a tool's own name counts more than one that only providers know it by.
  const byName = tools.map((tool) => [tool.facts.name, tool] as const).reverse();
  const byPortable = tools.map((tool) => [toPortableName(tool.facts.name), tool] as const).reverse();
  return new Map([...byPortable, ...byName]);
};

const toSorted = (byName: ReadonlyMap<string, Tool>): readonly Tool[] => [...byName.values()].sort(compareNames);
