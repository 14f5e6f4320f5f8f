/** Which share of the batches is let in, as it follows from interval to interval. */
export type AdmittedShare = {
  /** An interval is over. `severity`: 1 = just too much; more = by that many times. */
  readonly observe: (was: 'good' | 'bad', severity?: number) => void;
  /** Whether the next batch is one of those not let in. */
  readonly refusesNext: () => boolean;
};

// One long computation, a collection of garbage or the first requests after the start are bad once: that is no overload.
const BAD_IN_A_ROW = 3;
// The share falls by a fifth and rises by three hundredths an interval: near the right share it moves little, and a second
// after a short spell all batches are let in again.
const DECREASE = 0.8;
const LARGEST_DECREASE = 0.5;
const INCREASE = 0.03;
// A second without a bad interval: what was too much is over.
const GOOD_IN_A_ROW = 10;
const FAST_INCREASE = 0.1;
const LEAST_ADMITTED = 0.05;
// Steps of the golden ratio spread evenly, also over every second or tenth request: no caller is always the one.
const STEP = 0.6180339887498949;

const toIncrease = (goodInARow: number): number => (goodInARow > GOOD_IN_A_ROW ? FAST_INCREASE : INCREASE);

/** Begins with everything let in: additive increase, multiplicative decrease, spread without chance. */
export const createAdmittedShare = (): AdmittedShare => {
  let admitted = 1;
  let badInARow = 0;
  let goodInARow = 0;
  let turn = 0;
  return {
    observe: (was, severity = 1) => {
      badInARow = was === 'bad' ? badInARow + 1 : 0;
      goodInARow = was === 'good' ? goodInARow + 1 : 0;
      if (was === 'good') admitted = Math.min(1, admitted + toIncrease(goodInARow));
      else if (admitted < 1 || badInARow >= BAD_IN_A_ROW)
        admitted = Math.max(LEAST_ADMITTED, admitted * Math.max(LARGEST_DECREASE, DECREASE ** severity));
    },
    refusesNext: () => {
      if (admitted === 1) return false;
      turn = (turn + STEP) % 1;
      return turn >= admitted;
    },
  };
};
