import { distance } from 'fastest-levenshtein';
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
   * `Tool 'search' is switched off here. Use another tool, or say what could not be done. Available tools: …`: of a tool
   * that is known and cannot be called. Nothing else was meant, so nothing is guessed.
   */
  readonly unavailable: (name: string, withheld: Withholding | 'no') => string;
};

// Up to so many tools a name is compared with each of them: some 30 µs.
const MOST_COMPARED_ALL = 128;
// Of more tools with the likeliest ones. Finding and comparing these costs as much as so many comparisons.
const MOST_COMPARED_NEAR = 48;
const COST_OF_NEAR = 400;
// What all names of a batch may cost together, in comparisons. Beyond it the tools are listed by name, and none is guessed.
const MOST_COST = 1280;

type MayUse = (name: string) => boolean;

/** `listNames`: of all tools; asked once, with the first wrong name. Those that the caller may not use are never told. */
export const createNameSuggestions = (listNames: () => NameIndex, mayUse: MayUse): NameSuggestions => {
  let index: NameIndex | null = null;
  let ranked: Map<string, readonly Ranked[]> | null = null;
  let cost = 0;
  const rankOnce = (wanted: string): readonly Ranked[] => {
    index ??= listNames();
    ranked ??= new Map();
    const known = ranked.get(wanted);
    if (known !== undefined) return known;
    cost += index.names.length <= MOST_COMPARED_ALL ? index.names.length : COST_OF_NEAR;
    const isAffordable = ranked.size === 0 || cost <= MOST_COST;
    const found = isAffordable
      ? rankNearest(wanted, index, mayUse)
      : listFirst(index, mayUse, MAX_NAMES).map(toUnranked);
    ranked.set(wanted, found);
    return found;
  };
  return {
    unknown: (name) => {
      const wanted = normalise(name);
      const names = rankOnce(wanted);
      const [nearest] = names;
      const isNear = nearest !== undefined && nearest.far <= toReach(wanted);
      const guess = isNear ? ` Did you mean '${nearest.candidate}'?` : '';
      return `Unknown tool: ${echoName(name)}.${guess} ${tellAvailable(names)}`;
    },
    unavailable: (name, withheld) =>
      `Tool '${echoName(name)}' ${WHY[withheld]}. Use another tool, or say what could not be done. ${tellAvailable(rankOnce(normalise(name)))}`,
  };
};

const WHY = {
  switched_off: 'is switched off here',
  held: 'is not offered until a person has approved it as it is now',
  no: 'is not available at present',
} as const satisfies Record<Withholding | 'no', string>;

type Ranked = { readonly candidate: string; readonly far: number };

const toUnranked = (candidate: string): Ranked => ({ candidate, far: Number.POSITIVE_INFINITY });

/** How far a name may be from what was written to be what was meant. */
const toReach = (wanted: string): number => Math.max(1, Math.floor(wanted.length / 3));

const rankNearest = (wanted: string, index: NameIndex, mayUse: MayUse): readonly Ranked[] => {
  if (index.names.length <= MOST_COMPARED_ALL) return rankAll(wanted, index.names.filter(mayUse));
  const near = rankNear(wanted, index, mayUse);
  if (near.length >= MAX_NAMES) return near;
  const some = listFirst(index, mayUse, MOST_COMPARED_ALL + 1);
  if (some.length <= MOST_COMPARED_ALL) return rankAll(wanted, some);
  const told = new Set(near.map(({ candidate }) => candidate));
  return [...near, ...some.filter((name) => !told.has(name)).map(toUnranked)].slice(0, MAX_NAMES);
};

const rankAll = (wanted: string, names: readonly string[]): readonly Ranked[] =>
  toNearest(names.map((candidate) => ({ candidate, far: distance(wanted, candidate.toLowerCase()) })));

const toNearest = (ranked: Ranked[]): readonly Ranked[] =>
  ranked.sort((a, b) => a.far - b.far || (a.candidate < b.candidate ? -1 : 1)).slice(0, MAX_NAMES);

const rankNear = (wanted: string, index: NameIndex, mayUse: MayUse): readonly Ranked[] => {
  const ranked: Ranked[] = [];
  let reach = toReach(wanted);
  for (const { name, lower, least } of index.findNear(wanted)) {
    // What follows is not nearer than what was found, and there are enough to list.
    const isEnough = ranked.length >= MAX_NAMES && least > reach;
    if (isEnough || ranked.length >= MOST_COMPARED_NEAR) break;
    if (!mayUse(name)) continue;
    const far = distance(wanted, lower);
    reach = Math.min(reach, far);
    ranked.push({ candidate: name, far });
  }
  return toNearest(ranked);
};

const listFirst = ({ names }: NameIndex, mayUse: MayUse, most: number): readonly string[] => {
  const first: string[] = [];
  for (const name of names) {
    if (first.length >= most) break;
    if (mayUse(name)) first.push(name);
  }
  return first;
};

const tellAvailable = (ranked: readonly Ranked[]): string => {
  const names = ranked.map(({ candidate }) => candidate);
  return names.length === 0 ? 'No tools are available.' : `Available tools: ${names.join(', ')}.`;
};
