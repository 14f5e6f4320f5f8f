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

/** `Unknown tool: serach. Did you mean 'search'? Available tools: …`: at most 20 names, the nearest first. */
export const toUnknownToolText = (name: string, available: readonly string[]): string => {
  const said = `Unknown tool: ${echoName(name)}.`;
  const wanted = normalise(name);
  const ranked = rank(wanted, available);
  const [nearest] = ranked;
  const isNear = nearest !== undefined && nearest.far <= Math.max(1, Math.floor(wanted.length / 3));
  const guess = isNear ? ` Did you mean '${nearest.candidate}'?` : '';
  return `${said}${guess} ${tellAvailable(ranked)}`;
};

/**
 * `Tool 'search' is switched off here. Use another tool, or say what could not be done. Available tools: …`: of a tool
 * that is known and cannot be called. Nothing else was meant, so nothing is guessed.
 */
export const toUnavailableToolText = (
  name: string,
  withheld: Withholding | 'no',
  available: readonly string[],
): string => {
  const others = rank(normalise(name), available);
  return `Tool '${echoName(name)}' ${WHY[withheld]}. Use another tool, or say what could not be done. ${tellAvailable(others)}`;
};

const WHY = {
  switched_off: 'is switched off here',
  held: 'is not offered until a person has approved it as it is now',
  no: 'is not available at present',
} as const satisfies Record<Withholding | 'no', string>;

type Ranked = { readonly candidate: string; readonly far: number };

const rank = (wanted: string, available: readonly string[]): readonly Ranked[] =>
  available
    .map((candidate) => ({ candidate, far: distance(wanted, candidate.toLowerCase()) }))
    .sort((a, b) => a.far - b.far || (a.candidate < b.candidate ? -1 : 1));

const tellAvailable = (ranked: readonly Ranked[]): string => {
  const names = ranked.slice(0, MAX_NAMES).map(({ candidate }) => candidate);
  return names.length === 0 ? 'No tools are available.' : `Available tools: ${names.join(', ')}.`;
};
