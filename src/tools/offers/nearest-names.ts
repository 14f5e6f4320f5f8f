import { distance } from 'fastest-levenshtein';

/** Those of the known names that a person may have meant, the nearest first; none where none is near. */
export const findNearestNames = (name: string, known: Iterable<string>, most: number): readonly string[] => {
  const wanted = name.toLowerCase();
  const limit = Math.max(1, Math.floor(wanted.length / 3));
  return [...new Set(known)]
    .map((candidate) => ({ candidate, far: distance(wanted, candidate.toLowerCase()) }))
    .filter(({ far }) => far <= limit)
    .sort((one, other) => one.far - other.far || (one.candidate < other.candidate ? -1 : 1))
    .slice(0, most)
    .map(({ candidate }) => candidate);
};
