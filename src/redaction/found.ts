/** A secret in a text: where it begins, where what follows it begins, and what is shown instead. */
export type Found = {
  readonly start: number;
  readonly end: number;
  readonly instead: string;
  /** Which registered value it is; null for what only has the shape of a secret. */
  readonly secret: number | null;
};

/** The text with each place in `found` replaced; places that overlap are one, shown as the first of them. */
export const replaceFound = (text: string, found: readonly Found[]): string => {
  let replaced = '';
  let from = 0;
  for (const { start, end, instead } of found.toSorted((one, other) => one.start - other.start)) {
    if (start >= from) replaced += text.slice(from, start) + instead;
    from = Math.max(from, end);
  }
  return replaced + text.slice(from);
};
