/** The value that `share` (0 to 1) of the sorted values do not exceed. NaN where there are none. */
export const percentileOf = (sorted: ArrayLike<number>, share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
