import { setImmediate as nextTurn } from 'node:timers/promises';

// Less takes a millisecond, and never waits.
const SMALL_BYTES = 65_536;

/**
 * Settles when an answer of so many bytes may be parsed: of the large ones, one has each turn of the event loop. Sixteen that
 * came together stopped the service for the sum of them.
 */
export const createAnswerTurns = (): ((bytes: number) => Promise<void>) => {
  let last: Promise<void> = Promise.resolve();
  return (bytes) => {
    if (bytes < SMALL_BYTES) return Promise.resolve();
    last = last.then(() => nextTurn());
    return last;
  };
};
