type Waiting = { readonly until: number; readonly giveUp: () => void };

/** Gives up what takes longer than a time that is the same for all: one timer, for the one that waits longest. */
export type CommandDeadline = <Answer>(answer: Promise<Answer>) => Promise<Answer>;

/**
 * Rejects when no answer has come within `ms`. Not commandTimeout: that is a timer alone, and where a burst of requests
 * kept the event loop busy it fires before the answers that are there are read. They are read before an immediate.
 */
export const createCommandDeadline = (ms: number): CommandDeadline => {
  // In the order in which they began, which is that of their ends.
  const waiting = new Set<Waiting>();
  let timer: NodeJS.Timeout | null = null;
  // Old is what was old before answers were read: between a timer and its immediate more may have been sent.
  const look = (): void => void setImmediate(giveUpOld, performance.now());
  // No reason to stay alive: what is waited for is one, its connection.
  const arm = (delay: number): void => {
    timer = setTimeout(look, delay).unref();
  };
  const giveUpOld = (now: number): void => {
    timer = null;
    for (const one of waiting) {
      if (one.until > now) {
        arm(Math.max(1, Math.ceil(one.until - performance.now())));
        return;
      }
      waiting.delete(one);
      one.giveUp();
    }
  };
  return (answer) =>
    new Promise((resolve, reject) => {
      const one = { until: performance.now() + ms, giveUp: () => reject(new Error('Command timed out')) };
      waiting.add(one);
      if (timer === null) arm(ms);
      answer.then(
        (value) => {
          waiting.delete(one);
          resolve(value);
        },
        (error: unknown) => {
          waiting.delete(one);
          reject(error);
        },
      );
    });
};
