/** How many requests a caller may send in a window of time. */
export type Rate = { readonly requests: number; readonly windowMs: number };

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

/** Reads `600/m`: requests per second (s), minute (m) or hour (h), 1 to 999 999 999; null for anything else. */
export const parseRate = (text: string): Rate | null => {
  const [, requests = '', unit = ''] = /^([1-9]\d{0,8})\/([smh])$/.exec(text) ?? [];
  const windowMs = UNITS[unit];
  return windowMs === undefined ? null : { requests: Number(requests), windowMs };
};
