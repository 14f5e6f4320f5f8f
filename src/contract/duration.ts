const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `200ms`, `30s`, `2m` or `6h`. */
export const DURATION = /^([1-9]\d{0,6})(ms|s|m|h)$/;

/** A duration in milliseconds. */
export const readDuration = (text: string): number => {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  return Number(count) * (UNITS[unit] ?? Number.NaN);
};
