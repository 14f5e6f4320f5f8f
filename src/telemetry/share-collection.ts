// Scrapers come every few seconds; who comes more often gets what was collected a moment ago.
const SHARED_MS = 1000;

/** Runs `collect` once at a time; its text answers whoever asks while it runs and for `sharedMs` after. A rejection is not kept. */
export const shareCollection = (
  collect: () => Promise<string>,
  now: () => number,
  sharedMs = SHARED_MS,
): (() => Promise<string>) => {
  let current: Promise<string> | null = null;
  let staleAt = Number.POSITIVE_INFINITY;
  const forget = (): void => {
    current = null;
  };
  return () => {
    if (now() >= staleAt) forget();
    if (current !== null) return current;
    staleAt = Number.POSITIVE_INFINITY;
    current = collect();
    current.then(() => {
      staleAt = now() + sharedMs;
    }, forget);
    return current;
  };
};
