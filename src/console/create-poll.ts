export type Poll = { readonly start: () => void; readonly stop: () => void };

/**
 * Reads again and again, one reading at a time. `read` says in how many milliseconds the next is due, or null for never.
 * `start` begins anew at once; `stop` also aborts a reading that is under way.
 */
export const createPoll = (read: (signal: AbortSignal) => Promise<number | null>): Poll => {
  let timer = 0;
  let current = new AbortController();
  const stop = (): void => {
    clearTimeout(timer);
    current.abort();
  };
  const turn = async (own: AbortController): Promise<void> => {
    const delayMs = await read(own.signal);
    if (delayMs !== null && !own.signal.aborted) timer = setTimeout(() => void turn(own), delayMs);
  };
  const start = (): void => {
    stop();
    current = new AbortController();
    void turn(current);
  };
  return { start, stop };
};
