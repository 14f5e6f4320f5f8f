/** A part of a text: where it begins, and where what follows it begins. */
export type TextRange = { readonly start: number; readonly end: number };

/** Adds a range to those found so far, from left to right: one that overlaps the last makes that longer. */
export const addRange = (ranges: TextRange[], { start, end }: TextRange): void => {
  const last = ranges.at(-1);
  if (last === undefined || start >= last.end) ranges.push({ start, end });
  else ranges[ranges.length - 1] = { start: Math.min(start, last.start), end: Math.max(end, last.end) };
};

/** The text with `instead` in the place of each range, those that overlap as one. */
export const replaceRanges = (text: string, ranges: readonly TextRange[], instead: string): string => {
  const apart: TextRange[] = [];
  for (const range of ranges.toSorted((one, other) => one.start - other.start)) addRange(apart, range);
  let replaced = '';
  let from = 0;
  for (const { start, end } of apart) {
    replaced += text.slice(from, start) + instead;
    from = end;
  }
  return replaced + text.slice(from);
};
