import type { Transport } from '@modelcontextprotocol/client';

/** A way to one server, and what the SDK's own transports do not tell. */
export type ServerTransport = {
  readonly transport: Transport;
  /** Why it ended, one clause for people; null before the end is known. */
  readonly reason: () => string | null;
  /** Ends it where it cannot be used any more: calls that wait for an answer end as lost. */
  readonly breakOff: (why: string) => void;
  /** Ends what it started, without waiting for it. */
  readonly kill: () => void;
};

export const FLOOD_REASON = 'it sends messages faster than the limit';

// A busy server reports progress some hundred times a second; an event takes two to four lines.
const MOST_LINES_A_SECOND = 5_000;

/** Counts the lines of a connection: whether one more is too many of a second. */
export const createLineRate = (): (() => boolean) => {
  let second = { startedAt: 0, lines: 0 };
  return () => {
    const now = performance.now();
    if (now - second.startedAt > 1_000) second = { startedAt: now, lines: 0 };
    second.lines += 1;
    return second.lines > MOST_LINES_A_SECOND;
  };
};
