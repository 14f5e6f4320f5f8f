import { distance } from 'fastest-levenshtein';
import { findNearestNames } from '../contract/nearest-names.ts';
import type { NameIndex } from '../tools/name-index.ts';
import type { Withholding } from '../tools/tool-offer.ts';
import { echoName } from './failure-text.ts';

const MAX_NAMES = 20;
// Names come from a model and may be megabytes; no real name is longer than 64.
const MAX_COMPARED = 80;

const normalise = (name: string): string =>
  name
    .slice(0, MAX_COMPARED)
    .trim()
    .toLowerCase()
    .replace(/^functions[.:/]/, '');

/** What is said of names that no tool of the caller has. One for a batch: each distinct name costs once. */
export type NameSuggestions = {
  /** `Unknown tool: serach. Did you mean 'search'? Available tools: …`: at most 20 names, the nearest first. */
  readonly unknown: (name: string) => string;
  /**
   * `Tool 'search' is disabled. Use another tool, or say what could not be done. Available tools: …`: of a tool that the
   * operator keeps from being called. Nothing else was meant, so nothing is guessed.
   */
  readonly hidden: (name: string, why: Withholding) => string;
};

// Up to so many tools a name is compared with each of them: some 30 µs.
const MOST_COMPARED_ALL = 128;
// Of more tools with those that share parts with it. Finding and comparing these costs as much as so many comparisons.
const COST_OF_NEAR = 400;
// What all names of a batch may cost together, in comparisons. Beyond it the tools are listed by name, and none is guessed.
const MOST_COST = 1280;

type MayUse = (name: string) => boolean;

/** What is told of one name: the nearest one, how far it is, and at most 20 names in words, the nearest first. */
type Ranking = { readonly nearest: string; readonly far: number; readonly available: string };

/** `listNames`: of all tools; asked once, with the first wrong name. Those that the caller may not use are never told. */
export const createNameSuggestions = (listNames: () => NameIndex, mayUse: MayUse): NameSuggestions => {
  let index: NameIndex | null = null;
  let ranked: Map<string, Ranking> | null = null;
  let cost = 0;
  const rankOnce = (wanted: string): Ranking => {
    index ??= listNames();
    ranked ??= new Map();
    const known = ranked.get(wanted);
    if (known !== undefined) return known;
    cost += index.names.length <= MOST_COMPARED_ALL ? index.names.length : COST_OF_NEAR;
    const isAffordable = ranked.size === 0 || cost <= MOST_COST;
    const found = isAffordable
      ? rankOrRemember(wanted, index, mayUse)
      : toRanking(listFirst(index, mayUse, MAX_NAMES).map(toUnranked), index);
    ranked.set(wanted, found);
    return found;
  };
  return {
    unknown: (name) => {
      const wanted = normalise(name);
      const { nearest, far, available } = rankOnce(wanted);
      const guess = far <= toReach(wanted) ? ` Did you mean '${nearest}'?` : '';
      return `Unknown tool: ${echoName(name)}.${guess} ${available}`;
    },
    hidden: (name, why) =>
      `Tool '${echoName(name)}' ${WHY[why]}. Use another tool, or say what could not be done. ${rankOnce(normalise(name)).available}`,
  };
};

const WHY = {
  switched_off: 'is disabled',
  held: 'has changed and is not available until an operator approves it',
} as const satisfies Record<Withholding, string>;

// A name is ranked as one number: how far it is, then its place, by which names are told that are equally far.
const PLACES = 4_294_967_296;
const UNKNOWN_FAR = 1_048_576;

const toRank = (far: number, place: number): number => far * PLACES + place;
// It was not compared: behind all that were, by name.
const toUnranked = (place: number): number => toRank(UNKNOWN_FAR, place);

/** How far a name may be from what was written to be what was meant. */
const toReach = (wanted: string): number => Math.max(1, Math.floor(wanted.length / 3));

// A model that invents a name invents it again, in other sessions, too. What a caller may use is a function of its key.
const MOST_REMEMBERED = 64;
type Remembered = { readonly mayUse: MayUse; readonly ranking: Ranking };
const remembered = new WeakMap<NameIndex, Map<string, Remembered>>();

const rankOrRemember = (wanted: string, index: NameIndex, mayUse: MayUse): Ranking => {
  const rankings = remembered.get(index) ?? new Map<string, Remembered>();
  const known = rankings.get(wanted);
  if (known?.mayUse === mayUse) return known.ranking;
  const ranking = rankNearest(wanted, index, mayUse);
  if (rankings.size === 0) remembered.set(index, rankings);
  if (rankings.size >= MOST_REMEMBERED) rankings.clear();
  rankings.set(wanted, { mayUse, ranking });
  return ranking;
};

const rankNearest = (wanted: string, index: NameIndex, mayUse: MayUse): Ranking => {
  if (index.names.length <= MOST_COMPARED_ALL)
    return rankAll(wanted, index, listFirst(index, mayUse, MOST_COMPARED_ALL));
  const near = rankNear(wanted, index, mayUse);
  if (near.length >= MAX_NAMES) return toRanking(near, index);
  const some = listFirst(index, mayUse, MOST_COMPARED_ALL + 1);
  if (some.length <= MOST_COMPARED_ALL) return rankAll(wanted, index, some);
  const compared = new Set(near.map((rank) => rank % PLACES));
  // As many as are told, wherever those that were compared stand among them.
  const others = some.slice(0, MAX_NAMES).filter((place) => !compared.has(place));
  return toRanking([...near, ...others.map(toUnranked)], index);
};

const rankAll = (wanted: string, index: NameIndex, places: readonly number[]): Ranking => {
  const lowers = index.lowers();
  const ranks = places.map((place) => toRank(distance(wanted, lowers[place] ?? ''), place));
  return toRanking(ranks, index);
};

const toRanking = (ranks: readonly number[], index: NameIndex): Ranking => {
  const sorted = new Float64Array(ranks).sort().subarray(0, MAX_NAMES);
  const names: string[] = [];
  for (const rank of sorted) names.push(index.names[rank % PLACES] ?? '');
  const available = names.length === 0 ? 'No tools are available.' : `Available tools: ${names.join(', ')}.`;
  return { nearest: names[0] ?? '', far: Math.floor((sorted[0] ?? toUnranked(0)) / PLACES), available };
};

const rankNear = (wanted: string, index: NameIndex, mayUse: MayUse): readonly number[] => {
  const lowers = index.lowers();
  const near = index.findNear(wanted).filter((place) => mayUse(index.names[place] ?? ''));
  return near.map((place) => toRank(distance(wanted, lowers[place] ?? ''), place));
};

/** The places of the first names that the caller may use. */
const listFirst = ({ names }: NameIndex, mayUse: MayUse, most: number): readonly number[] => {
  const first: number[] = [];
  for (let place = 0; place < names.length && first.length < most; place += 1)
    if (mayUse(names[place] ?? '')) first.push(place);
  return first;
};

/** What other interfaces call the members of a call. */
const OTHER_WORDS = {
  name: ['tool', 'tool_name', 'toolName', 'function', 'function_name', 'method'],
  arguments: ['args', 'input', 'inputs', 'parameters', 'params', 'kwargs', 'tool_input', 'toolInput'],
} as const;

const MOST_LOOKED_AT = 16;
const MOST_LETTERS = 20;

/** The member of an entry that stands in the place of one that is missing; null where none looks like it. */
export const findMisnamed = (entry: object, missing: 'name' | 'arguments'): string | null => {
  const words: readonly string[] = OTHER_WORDS[missing];
  const names = Object.keys(entry).slice(0, MOST_LOOKED_AT);
  const known = names.find((name) => words.includes(name));
  if (known !== undefined) return known;
  const isNear = (name: string): boolean =>
    name.length <= MOST_LETTERS && findNearestNames(name, [missing], 1, missing === 'name' ? 1 : 2).length > 0;
  return names.find((name) => name !== 'id' && name !== missing && isNear(name)) ?? null;
};
