/** Counts the lines of a connection. */
export type LineRate = {
  /** One more line: `flood` where there are more in a second than anybody can listen to. */
  readonly add: () => 'fine' | 'flood';
};

// An event takes two to four. A busy server reports progress some hundred times a second.
const MOST_LINES_A_SECOND = 5_000;

/** `onFlood`: called once, with the first line too many. */
export const createLineRate = (onFlood: () => void): LineRate => {
  let startedAt = 0;
  let lines = 0;
  let isFlooded = false;
  return {
    add: () => {
      const now = performance.now();
      if (now - startedAt > 1_000) {
        startedAt = now;
        lines = 0;
      }
      lines += 1;
      if (lines <= MOST_LINES_A_SECOND && !isFlooded) return 'fine';
      if (!isFlooded) onFlood();
      isFlooded = true;
      return 'flood';
    },
  };
};
