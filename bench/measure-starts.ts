import { type Figures, joinStarts } from './figures.ts';
import type { Part } from './part.ts';

/** How often the servers of a comparison are started: of equal processes some are slower than others for as long as they live. */
export const STARTS = 3;
// A start of its own says more than further slices of the same.
const ROUNDS_SHARE = 1 / 4;

/** Slices of each server in one start. */
export const toRoundsOfStart = (rounds: number): number => Math.ceil(rounds * ROUNDS_SHARE);

/**
 * Lets a step start its servers and measure them three times, and joins what came of it. `warmUpShare`: how much of the
 * warm-up the step needs, 0 to 1.
 */
export const measureStarts = async (
  part: Part,
  measure: (part: Part) => Promise<Figures>,
  warmUpShare = 1,
): Promise<Figures> => {
  const { rounds, warmUpSeconds } = part.options;
  const options = {
    ...part.options,
    rounds: toRoundsOfStart(rounds),
    warmUpSeconds: warmUpSeconds * warmUpShare,
  };
  const starts: Figures[] = [];
  for (let start = 1; start <= STARTS; start += 1) {
    part.progress(`start ${start} of ${STARTS}`);
    starts.push(await measure({ ...part, options }));
  }
  return joinStarts(starts);
};
