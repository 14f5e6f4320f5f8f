/** The middle of several measurements, and how far they lay apart. */
export type Summary = { readonly median: number; readonly lowest: number; readonly highest: number };

/** The median of an even count is the mean of the two in the middle. Throws where there is nothing to summarise. */
export const summarise = (values: readonly number[]): Summary => {
  const sorted = values.toSorted((one, other) => one - other);
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  const upper = sorted[Math.floor(sorted.length / 2)];
  if (lower === undefined || upper === undefined) throw new Error('There is nothing to summarise.');
  return { median: (lower + upper) / 2, lowest: sorted[0] ?? lower, highest: sorted.at(-1) ?? upper };
};

/** The value that a quarter of the values lie below. Throws where there are none. */
export const quartileOf = (values: readonly number[]): number => {
  const value = values.toSorted((one, other) => one - other)[Math.floor(values.length / 4)];
  if (value === undefined) throw new Error('There is nothing to take a quartile of.');
  return value;
};

/** The value that `share` (0 to 1) of the sorted values do not exceed. NaN where there are none. */
export const percentileOf = (sorted: ArrayLike<number>, share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
