/** How many calls were started, and how many were dropped for want of what all of them share. */
export type Turns = { readonly started: number; readonly dropped: number };

export type TurnCounts = {
  readonly start: () => void;
  readonly drop: () => void;
  /** Since it was last asked. */
  readonly take: () => Turns;
};

export const createTurnCounts = (): TurnCounts => {
  let started = 0;
  let dropped = 0;
  return {
    start: () => {
      started += 1;
    },
    drop: () => {
      dropped += 1;
    },
    take: () => {
      const taken = { started, dropped };
      started = 0;
      dropped = 0;
      return taken;
    },
  };
};
