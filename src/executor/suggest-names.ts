import { distance } from 'fastest-levenshtein';
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

// A name against 5 000 tools takes some milliseconds. Beyond this the names are listed, and none is guessed.
const MAX_COMPARISONS = 10_000;

/** `listAvailable`: names of the tools that the caller may use, by name; asked once, with the first wrong name. */
export const createNameSuggestions = (listAvailable: () => readonly string[]): NameSuggestions => {
  let available: readonly string[] | null = null;
  let ranked: Map<string, readonly Ranked[]> | null = null;
  const rankOnce = (wanted: string): readonly Ranked[] => {
    available ??= listAvailable();
    ranked ??= new Map();
    const known = ranked.get(wanted);
    if (known !== undefined) return known;
    const isAffordable = ranked.size === 0 || (ranked.size + 1) * available.length <= MAX_COMPARISONS;
    const found = isAffordable ? rankNearest(wanted, available) : available.slice(0, MAX_NAMES).map(toUnranked);
    ranked.set(wanted, found);
    return found;
  };
  return {
    unknown: (name) => {
      const wanted = normalise(name);
      const names = rankOnce(wanted);
      const [nearest] = names;
      const isNear = nearest !== undefined && nearest.far <= Math.max(1, Math.floor(wanted.length / 3));
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

const rankNearest = (wanted: string, available: readonly string[]): readonly Ranked[] =>
  available
    .map((candidate) => ({ candidate, far: distance(wanted, candidate.toLowerCase()) }))
    .sort((a, b) => a.far - b.far || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, MAX_NAMES);

const tellAvailable = (ranked: readonly Ranked[]): string => {
  const names = ranked.map(({ candidate }) => candidate);
  return names.length === 0 ? 'No tools are available.' : `Available tools: ${names.join(', ')}.`;
};
