import type { Result, Told } from './client.ts';

/** What may be wrong with a payment at the end; docs/lost-replies.md defines each. */
export const FAULTS = ['doubled', 'lost', 'unknown', 'wrong'] as const;
export type Fault = (typeof FAULTS)[number];

export type Judged = Told & {
  readonly bookings: number;
  /** The last word on it: what is kept of its last request now, or what its client has heard. */
  readonly now: Result | null;
  /** None: it is booked once, and its client knows. */
  readonly faults: readonly Fault[];
};

/** Holds the last word on a payment against the ledger of the bank. `kept`: what the service says now; null: nothing. */
export const judge = (told: Told, kept: Result | null, ledger: ReadonlyMap<string, number>): Judged => {
  const bookings = ledger.get(told.payment.id) ?? 0;
  const now = kept ?? told.result;
  const isSuccess = now?.outcome === 'success';
  const isOpen = now === null || now.outcome === 'unknown' || now.outcome === 'pending';
  const found: Readonly<Record<Fault, boolean>> = {
    doubled: bookings > 1,
    lost: bookings === 0 && !isSuccess,
    unknown: isOpen,
    wrong: [now, told.result].some((word) => disagrees(word, bookings)),
  };
  return { ...told, bookings, now, faults: FAULTS.filter((fault) => found[fault]) };
};

const disagrees = (word: Result | null, bookings: number): boolean =>
  (word?.outcome === 'success' && bookings === 0) || (word?.executed === 'no' && bookings > 0);
