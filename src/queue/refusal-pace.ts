import { append, createLinkedList, remove } from '../memory/linked-list.ts';

export type RefusalPace = ReturnType<typeof createRefusalPace>;

// A client that sends again at once is refused again at once: without a pace the event loop does nothing else. A
// refusal takes 0.1 to 0.3 ms, so 500 a second take 5 to 15 % of it.
const A_MILLISECOND = 0.5;
// A burst is no flood.
const MOST_AT_ONCE = 100;
const INTERVAL_MS = 10;
// None waits longer than eight seconds; a request that waits takes some 10 kB.
const MOST_WAITING = 4096;

type Refusal = { readonly tell: () => void; isWaiting: boolean };

const NOTHING_TO_CALL_OFF = (): void => undefined;

/**
 * Tells of refusals no faster than leaves the event loop time for what is not refused. `later`: calls back after so many
 * milliseconds.
 */
export const createRefusalPace = ({
  now,
  later,
}: {
  readonly now: () => number;
  readonly later: (listener: () => void, ms: number) => void;
}) => {
  const waiting = createLinkedList<Refusal>();
  let left = MOST_AT_ONCE;
  let countedAt = now();
  let isEnding = false;
  let isTicking = false;
  const renew = (): void => {
    const moment = now();
    left = Math.min(MOST_AT_ONCE, left + (moment - countedAt) * A_MILLISECOND);
    countedAt = moment;
  };
  const reportFirst = (): void => {
    const { first } = waiting;
    if (first === null) return;
    remove(waiting, first);
    first.item.isWaiting = false;
    // Those that are told because too many wait run up no debt: the others would wait for it.
    left = Math.max(0, left - 1);
    first.item.tell();
  };
  const tick = (): void => {
    isTicking = false;
    renew();
    while (left >= 1 && waiting.size > 0) reportFirst();
    keepTicking();
  };
  const keepTicking = (): void => {
    if (isTicking || waiting.size === 0) return;
    isTicking = true;
    later(tick, INTERVAL_MS);
  };
  return {
    /** Calls `tell` now, or when it is its turn: in the order of asking. Gives the way to call it off. */
    tell: (tell: () => void): (() => void) => {
      renew();
      if (isEnding || (waiting.size === 0 && left >= 1)) {
        left -= 1;
        tell();
        return NOTHING_TO_CALL_OFF;
      }
      const refusal = { tell, isWaiting: true };
      const place = append(waiting, refusal);
      if (waiting.size > MOST_WAITING) reportFirst();
      keepTicking();
      return () => {
        if (refusal.isWaiting) remove(waiting, place);
        refusal.isWaiting = false;
      };
    },
    /** Tells of all that wait, and of further ones at once: the service ends. */
    tellAll: (): void => {
      isEnding = true;
      while (waiting.size > 0) reportFirst();
    },
  };
};
