import { distance } from 'fastest-levenshtein';

const reachOf = (wanted: string): number => Math.max(1, Math.floor(wanted.length / 3));

/**
 * Those of the known names that a person may have meant, the nearest first; none where none is near. `reach`: how many
 * letters may be wrong; left out: a third of them.
 */
export const findNearestNames = (
  name: string,
  known: Iterable<string>,
  most: number,
  reach = reachOf(name),
): readonly string[] => {
  const wanted = name.toLowerCase();
  return [...new Set(known)]
    .map((candidate) => ({ candidate, far: distance(wanted, candidate.toLowerCase()) }))
    .filter(({ far }) => far <= reach)
    .sort((one, other) => one.far - other.far || (one.candidate < other.candidate ? -1 : 1))
    .slice(0, most)
    .map(({ candidate }) => candidate);
};
