/**
 * Lets so many starts go on at once. Resolves when a start has ended, however it ended, or when it has taken so long; then
 * it goes on, and the next one begins.
 */
export const createStartTurns = (atOnce: number, patienceMs: number) => {
  const waiting: (() => void)[] = [];
  let running = 0;
  const handOn = (): void => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  return async (start: () => Promise<void>): Promise<void> => {
    if (running < atOnce) running += 1;
    else {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      await promise;
    }
    await within(patienceMs, start());
    handOn();
  };
};

const within = (ms: number, work: Promise<void>): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return Promise.race([work.then(resolve, resolve), promise]).finally(() => clearTimeout(timer));
};
