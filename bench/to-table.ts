import type { Summary } from './summarise.ts';

/** Median, lowest and highest. */
export const toCells = ({ median, lowest, highest }: Summary, digits: number): readonly string[] =>
  [median, lowest, highest].map((value) => value.toFixed(digits));

/** Whether a target was met, in a word. */
export const toVerdict = (isMet: boolean): string => (isMet ? 'met' : '**missed**');

/** A Markdown table; the first column is aligned to the left, all others to the right. */
export const toTable = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const widths = head.map((title, column) => Math.max(2, title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0);
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [head.map(pad), rule, ...rows.map((row) => row.map(pad))]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
};
