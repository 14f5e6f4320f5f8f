/** Spreads the work on large values over turns of the event loop, so that what is small is served in between. */
export type TurnShare = {
  /** Does work on about so many bytes: at once where they are few or this turn has room, else in the order of asking. */
  readonly inTurn: <Value>(bytes: number, work: () => Value) => Value | Promise<Value>;
  /** Counts bytes that were worked on in this turn. */
  readonly spend: (bytes: number) => void;
};

// At 2 to 3 ms a megabyte, for text that JSON has to escape, some 10 ms.
const BYTES_A_TURN = 4_194_304;
// Less is not counted and never waits: a batch of small values costs no immediate, and none behind the large ones.
const SMALL_BYTES = 16_384;

export const createTurnShare = (): TurnShare => {
  const waiting: (() => void)[] = [];
  let left = BYTES_A_TURN;
  let isCounting = false;
  const count = (): void => {
    if (isCounting) return;
    isCounting = true;
    setImmediate(() => {
      isCounting = false;
      left = BYTES_A_TURN;
      while (left > 0) {
        const next = waiting.shift();
        if (next === undefined) return;
        next();
      }
      count();
    });
  };
  return {
    inTurn: (bytes, work) => {
      if (bytes < SMALL_BYTES || (left > 0 && waiting.length === 0)) return work();
      count();
      return new Promise((resolve) => {
        // Async only so that what it throws becomes a rejection; it runs at once.
        waiting.push(() => resolve((async () => work())()));
      });
    },
    spend: (bytes) => {
      if (bytes < SMALL_BYTES) return;
      left -= bytes;
      count();
    },
  };
};
