import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { type FigureRow, isMoreBetter, reaches, showFigure } from '../figures.ts';
import { summarise } from '../summarise.ts';

const FILE = join(import.meta.dirname, '..', 'floors.json');

/** By the name of a row: the figure that was reached, and the worst that its noise explains. */
const Floors = z.record(z.string(), z.object({ reached: z.number(), floor: z.number() }));
export type Floors = Readonly<z.infer<typeof Floors>>;

// Of three values of a normal distribution the range is 1.69 standard deviations, the median's deviation 0.67 of one, and
// that of the difference of two medians 0.95. Three of these are passed by one row in seven hundred.
const RANGE = 1.693;
const TOLERANCE = (3 * 0.67 * Math.SQRT2) / RANGE;
const DIGITS = 4;

/** How far the starts lay apart, as a share of their median. */
const rangeOf = ({ figures }: FigureRow): number => {
  const { median, lowest, highest } = summarise(figures);
  return (highest - lowest) / median;
};

/**
 * A floor for each row with a target. Three starts tell little of how far starts lie apart: each row is believed to
 * spread at least as much as the median row did.
 */
export const toFloors = (rows: readonly FigureRow[]): Floors => {
  const held = rows.filter(({ target }) => target !== null);
  const usual = summarise(held.map(rangeOf)).median;
  return Object.fromEntries(
    held.map((row) => {
      const { median } = summarise(row.figures);
      const worse = (isMoreBetter(row.as) ? -1 : 1) * TOLERANCE * Math.max(usual, rangeOf(row));
      return [row.what, { reached: round(median), floor: round(median * (1 + worse)) }];
    }),
  );
};

const round = (value: number): number => Number(value.toFixed(DIGITS));

/** A line for each row that lies below its floor, or has none. */
export const findMissed = (rows: readonly FigureRow[], floors: Floors): readonly string[] =>
  rows.flatMap(({ what, as, figures, target }) => {
    const held = floors[what];
    if (target === null) return [];
    if (held === undefined) return [`${what}: has no floor`];
    const { median } = summarise(figures);
    const [is, floor, was] = [median, held.floor, held.reached].map((value) => showFigure(as, value));
    return reaches(as, median, held.floor) ? [] : [`${what}: ${is}, its floor is ${floor}, reached were ${was}`];
  });

/** Writes the floors that figures of a whole run justify. */
export const writeFloors = (rows: readonly FigureRow[]): void =>
  writeFileSync(FILE, `${JSON.stringify(toFloors(rows), null, 2)}\n`);

/** Throws where there are none yet. */
export const readFloors = (): Floors => {
  if (!existsSync(FILE)) throw new Error('bench/floors.json is not there: npm run bench -- --write-floors writes it.');
  return Floors.parse(JSON.parse(readFileSync(FILE, 'utf8')));
};

/** Throws an error that names the rows that missed their floors; says so where there are none. */
export const checkFloors = (rows: readonly FigureRow[], floors: Floors, say: (line: string) => void): void => {
  const missed = findMissed(rows, floors);
  if (missed.length > 0) throw new Error(`${missed.length} of ${rows.length} figures missed:\n${missed.join('\n')}`);
  say(`All ${rows.length} figures are at their floors or better.`);
};
