/** What batches that came in one request share, so that together they keep to the limits of one batch. */
export type BatchGroup = {
  /** Counts calls in; gives how many were counted before them. */
  readonly count: (calls: number) => number;
  /**
   * Resolves when fewer than `limit` batches of the group run, or when waiting ends; gives the way out again, to be
   * called once.
   */
  readonly enter: (limit: number, onEnd: (listener: () => void) => () => void) => Promise<() => void>;
};

/** For batches of one call each. They run in the order in which they asked. */
export const createBatchGroup = (): BatchGroup => {
  const waiting = new Set<() => void>();
  let counted = 0;
  let running = 0;
  const leave = (): void => {
    running -= 1;
    const [first] = waiting;
    first?.();
  };
  return {
    count: (calls) => {
      counted += calls;
      return counted - calls;
    },
    enter: (limit, onEnd) =>
      new Promise((resolve) => {
        const begin = (): void => {
          running += 1;
          resolve(leave);
        };
        if (running < limit) return begin();
        const admit = (): void => {
          waiting.delete(admit);
          stopListening();
          begin();
        };
        const stopListening = onEnd(() => {
          waiting.delete(admit);
          resolve(() => undefined);
        });
        waiting.add(admit);
      }),
  };
};
