/** Calls back once after so many milliseconds; gives the way to call it off. */
export type StartTimer = (listener: () => void, ms: number) => () => void;

export const startNodeTimer: StartTimer = (listener, ms) => {
  const timer = setTimeout(listener, ms);
  return () => clearTimeout(timer);
};

/** What deadlines go by. */
export type Clock = {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Of the same clock; left out: of Node. */
  readonly startTimer?: StartTimer;
};
