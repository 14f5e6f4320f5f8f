import { append, createLinkedList, remove } from './linked-list.ts';

/** Tells of refusals no faster than leaves the event loop time for what is not refused. */
export type RefusalPace = {
  /** Calls `tell` now, or when it is its turn: in the order of asking. Gives the way to call it off. */
  readonly tell: (tell: () => void) => () => void;
  /** Tells of all that are held, and of further ones at once: the service ends. */
  readonly tellAll: () => void;
};

export type RefusalPaceOptions = {
  readonly now: () => number;
  /** Calls back after so many milliseconds. */
  readonly later: (listener: () => void, ms: number) => void;
};

// A client that sends again at once is refused again at once: without a pace the event loop does nothing else. A
// refusal takes 0.1 to 0.3 ms, so 500 a second take 5 to 15 % of it.
const A_MILLISECOND = 0.5;
// A burst is no flood.
const MOST_AT_ONCE = 100;
const INTERVAL_MS = 10;
// None is held longer than eight seconds; a held request takes some 10 kB.
const MOST_HELD = 4096;

type Refusal = { readonly tell: () => void; isHeld: boolean };

const NOTHING_TO_CALL_OFF = (): void => undefined;

export const createRefusalPace = ({ now, later }: RefusalPaceOptions): RefusalPace => {
  const held = createLinkedList<Refusal>();
  let left = MOST_AT_ONCE;
  let countedAt = now();
  let isEnding = false;
  let isTicking = false;
  const renew = (): void => {
    const moment = now();
    left = Math.min(MOST_AT_ONCE, left + (moment - countedAt) * A_MILLISECOND);
    countedAt = moment;
  };
  const tellFirst = (): void => {
    const { first } = held;
    if (first === null) return;
    remove(held, first);
    first.item.isHeld = false;
    // Those that are told because too many are held run up no debt: the others would wait for it.
    left = Math.max(0, left - 1);
    first.item.tell();
  };
  const tick = (): void => {
    isTicking = false;
    renew();
    while (left >= 1 && held.size > 0) tellFirst();
    keepTicking();
  };
  const keepTicking = (): void => {
    if (isTicking || held.size === 0) return;
    isTicking = true;
    later(tick, INTERVAL_MS);
  };
  return {
    tell: (tell) => {
      renew();
      if (isEnding || (held.size === 0 && left >= 1)) {
        left -= 1;
        tell();
        return NOTHING_TO_CALL_OFF;
      }
      const refusal = { tell, isHeld: true };
      const place = append(held, refusal);
      if (held.size > MOST_HELD) tellFirst();
      keepTicking();
      return () => {
        if (refusal.isHeld) remove(held, place);
        refusal.isHeld = false;
      };
    },
    tellAll: () => {
      isEnding = true;
      while (held.size > 0) tellFirst();
    },
  };
};
