// Whoever works until the end is cut off, and what is known by then is lost.
const MARGIN_SHARE = 0.1;
const LEAST_MARGIN_MS = 250;
const MOST_MARGIN_MS = 2_000;

/**
 * How many of the milliseconds that a call has (`ToolContext.timeoutMs`) its work may take, a whole number: the rest, a
 * tenth but at least 0.25 s and at most 2 s, is for telling what is known until then. Never less than half of them.
 */
export const toWorkMs = (timeoutMs: number): number => {
  const marginMs = Math.min(Math.max(timeoutMs * MARGIN_SHARE, LEAST_MARGIN_MS), MOST_MARGIN_MS);
  return Math.ceil(timeoutMs - Math.min(marginMs, timeoutMs / 2));
};
