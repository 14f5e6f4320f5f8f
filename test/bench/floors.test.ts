import { expect, test } from 'vitest';
import { type FigureRow, joinStarts, toFigureTable } from '../../bench/figures.ts';
import { findMissed, toFloors } from '../../bench/main/floors.ts';

const toRow = (row: Partial<FigureRow>): FigureRow => ({
  what: 'one',
  as: 'share',
  measured: [80],
  comparedTo: 'bare',
  reference: [50],
  figures: [0.62],
  target: 0.7,
  doubts: [],
  ...row,
});

test('the figure of several starts is their median, and the table says how far they lay apart', () => {
  const starts = [0.62, 0.7, 0.65].map((figure) => ({ rows: [toRow({ figures: [figure] })], lanes: [] }));
  const { rows } = joinStarts(starts);
  const [, , line = ''] = toFigureTable(rows).split('\n');
  expect(line.split('|').map((cell) => cell.trim())).toEqual([
    '',
    'one',
    '80.0 µs',
    'bare',
    '50.0 µs',
    '0.65',
    '0.62 … 0.70',
    '≥ 0.70',
    '**missed**',
    '',
  ]);
});

test('a floor lies below what was reached by what the spread of the starts explains, and only rows with a target have one', () => {
  const rows = [
    toRow({ what: 'quiet', figures: [1, 1.01, 1.02] }),
    toRow({ what: 'usual', figures: [0.98, 1, 1.02] }),
    toRow({ what: 'noisy, less is better', as: 'times', figures: [1.9, 2, 2.1] }),
    toRow({ what: 'no target', target: null }),
  ];
  const floors = toFloors(rows);
  expect(Object.keys(floors)).toEqual(['quiet', 'usual', 'noisy, less is better']);
  expect(floors['quiet']?.floor).toBeCloseTo(1.01 * (1 - 1.679 * 0.04), 3);
  expect(floors['usual']?.floor).toBeCloseTo(1 - 1.679 * 0.04, 3);
  expect(floors['noisy, less is better']?.floor).toBeCloseTo(2 * (1 + 1.679 * 0.1), 3);
  expect(findMissed(rows, floors)).toEqual([]);
});

test('a row below its floor, or without one, has a line of its own', () => {
  const floors = { one: { reached: 0.65, floor: 0.6 }, two: { reached: 1.2, floor: 1.3 } };
  const rows = [
    toRow({ figures: [0.5, 0.59, 0.7] }),
    toRow({ what: 'two', as: 'times', figures: [1.2, 1.29, 1.4] }),
    toRow({ what: 'three' }),
    toRow({ what: 'four', target: null }),
  ];
  expect(findMissed(rows, floors)).toEqual(['one: 0.59, its floor is 0.60, reached were 0.65', 'three: has no floor']);
});
