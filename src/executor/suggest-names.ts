import { distance } from 'fastest-levenshtein';
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
  if (available.length === 0) return `${said} No tools are available.`;
  const wanted = normalise(name);
  const ranked = available
    .map((candidate) => ({ candidate, far: distance(wanted, candidate.toLowerCase()) }))
    .sort((a, b) => a.far - b.far || (a.candidate < b.candidate ? -1 : 1));
  const [nearest] = ranked;
  const isNear = nearest !== undefined && nearest.far <= Math.max(1, Math.floor(wanted.length / 3));
  const guess = isNear ? ` Did you mean '${nearest.candidate}'?` : '';
  const names = ranked.slice(0, MAX_NAMES).map(({ candidate }) => candidate);
  return `${said}${guess} Available tools: ${names.join(', ')}.`;
};
