import Table from 'cli-table3';
import { cutToColumns } from './command-output.ts';

/** The title of a column, and to which side its cells stand. */
export type Column = readonly [title: string, align: 'left' | 'right'];

// Where a terminal is narrower than all else, its lines break; less than this says nothing.
const MIN_LAST_COLUMN = 12;
const GAP = '  ';

// Columns stand apart by blanks, and nothing stands to the right of the last: whatever a terminal makes of the
// characters in it, no border is moved by them.
const NO_BORDERS = ['top', 'bottom', 'left', 'right'].flatMap((side) => [
  side,
  `${side}-mid`,
  `${side}-left`,
  `${side}-right`,
]);
const OPEN = {
  ...Object.fromEntries(NO_BORDERS.map((part) => [part, ''])),
  mid: '─',
  'mid-mid': '──',
  middle: GAP,
};

/** A table for a terminal of this many columns. The last column gets what the others leave, and is cut to it. */
export const formatTable = (
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string => {
  const table = new Table({
    head: columns.map(([title]) => title),
    colAligns: columns.map(([, align]) => align),
    chars: OPEN,
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
  });
  const left = Math.max(MIN_LAST_COLUMN, width - widthOfAllButLast(columns, rows));
  for (const row of rows) table.push([...row.slice(0, -1), cutToColumns(row.at(-1) ?? '', left)]);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
};

const widthOfAllButLast = (columns: readonly Column[], rows: readonly (readonly string[])[]): number =>
  columns
    .slice(0, -1)
    .map(([title], place) => Math.max(title.length, ...rows.map((row) => row[place]?.length ?? 0)))
    .reduce((sum, widest) => sum + widest + GAP.length, 0);
