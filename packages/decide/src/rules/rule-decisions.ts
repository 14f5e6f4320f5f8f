import type { Decide } from 'recourse-server/store/record-store';
import { type Count, type Entry, isHeld } from './rule-kind.ts';

// What each step changes in what a rule has counted in one scope. All are pure decisions, which a backend keeps atomically.
//
// | entry      | meaning                                                             | yes          | no           | maybe   |
// |------------|---------------------------------------------------------------------|--------------|--------------|---------|
// | (none)     | nothing is reserved, or it has lapsed, or its run has settled it    | spends ¹     | -            | -       |
// | held       | reserved for a call that has not ended                              | spent        | given_back ² | unknown |
// | unknown    | its call has ended, and nobody knows whether it took effect         | spent        | given_back   | -       |
// | spent      | counted among what was spent; a second word of the same call is old | -            | -            | -       |
// | given_back | nothing is counted for it, but a write that happened after all is   | spends       | -            | -       |
//
// ¹ By the word of the run itself, whose reservation has lapsed. Others speak of a run that has settled it, or of one that has left the window.
// ² Only where more may be heard of it: of a write, or by another process. Else the entry goes, as it does where a run has ended with `yes`.
//
// A reservation counts from when its call ends at the latest, and what was spent from when that was heard: each stays for a whole window from then,
// and a minute leaves it when all of it has left. So the sum is never looser than that of the effects themselves.

const MINUTE_MS = 60_000;
/** How long is counted where a rule has no window, in milliseconds from the last change. */
export const NO_WINDOW_MS = 24 * 60 * 60 * 1000;
/** How long others wait for a reservation that another rule may refuse. */
const TENTATIVE_MS = 1000;
// Each is a call that runs, or of which nobody knows: a rule with more of them refuses.
const MOST_ENTRIES = 10_000;
const MOST_MARKS = 500;
const MOST_SUCCESSES = 1000;

/** `windowMs`: null: it has none. */
export type WindowTerms = { readonly windowMs: number | null };
/** `max`: in millionths. A rule that only observes reserves whatever is asked for. */
export type CountTerms = WindowTerms & { readonly max: bigint; readonly isEnforced: boolean };

export type Reservation = {
  readonly name: string;
  readonly amount: bigint;
  /** When its call has ended at the latest, in milliseconds from now. */
  readonly endsInMs: number;
  /** Another rule may refuse its call yet. */
  readonly isTentative: boolean;
};

/**
 * `wait`: it fits as soon as tentative ones are given back. `fits`: false also where a rule that observes has reserved it. `left`: in
 * millionths, before this one. `until`: when more is left; null: that is not known.
 */
export type Reserved = {
  readonly kind: 'held' | 'full' | 'wait';
  readonly fits: boolean;
  readonly left: bigint;
  readonly until: number | null;
};

/** Reserves in this order, each that fits beside those before it. One that waits lets none pass by that is behind it. */
export const reserve =
  (asked: readonly Reservation[], terms: CountTerms): Decide<Count, readonly Reserved[]> =>
  (count, now) => {
    leaveWindow(count, terms, now);
    let mayPass = true;
    return asked.map((reservation) => {
      const reserved = reserveOne(count, reservation, terms, now);
      mayPass &&= reserved.kind !== 'wait';
      if (reserved.kind === 'full') return reserved;
      if (!mayPass) return { ...reserved, kind: 'wait' };
      hold(count, reservation, terms, now);
      return reserved;
    });
  };

const reserveOne = (count: Count, { name, amount }: Reservation, terms: CountTerms, now: number): Reserved => {
  const { max, windowMs, isEnforced } = terms;
  const own = count.entries.get(name);
  const total = count.spent + count.held - (own !== undefined && isHeld(own) ? own.amount : 0n);
  const fits = total + amount <= max && (own !== undefined || count.entries.size < MOST_ENTRIES);
  const mustWait = !fits && isEnforced;
  const waits = mustWait && total + amount - sumTentative(count, name, now) <= max;
  return {
    kind: mustWait ? (waits ? 'wait' : 'full') : 'held',
    fits,
    left: max > total ? max - total : 0n,
    until: findNextLeft(count, windowMs),
  };
};

const sumTentative = ({ entries }: Count, name: string, now: number): bigint => {
  let sum = 0n;
  for (const [other, entry] of entries)
    if (other !== name && isHeld(entry) && entry.tentativeUntil > now) sum += entry.amount;
  return sum;
};

const hold = (
  count: Count,
  { name, amount, endsInMs, isTentative }: Reservation,
  { windowMs }: WindowTerms,
  now: number,
): void =>
  count.set(name, {
    state: 'held',
    amount,
    since: now,
    until: now + endsInMs + (windowMs ?? NO_WINDOW_MS),
    tentativeUntil: isTentative ? now + TENTATIVE_MS : 0,
  });

/** When what was spent first leaves the window. */
const findNextLeft = ({ buckets }: Count, windowMs: number | null): number | null => {
  const first = buckets.keys().next().value;
  return first === undefined || windowMs === null ? null : toMinuteEnd(first) + windowMs;
};

const toMinuteEnd = (minute: number): number => (minute + 1) * MINUTE_MS;

/** Drops what has left the window. */
const leaveWindow = (count: Count, { windowMs }: WindowTerms, now: number): void => {
  if (windowMs !== null) {
    // The rule had no window when that was spent: it is not known when that was.
    const ageless = count.buckets.get(0);
    if (ageless !== undefined) {
      count.drop(0);
      spend(count, ageless, windowMs, now);
    }
    for (const minute of count.buckets.keys()) {
      if (toMinuteEnd(minute) + windowMs > now) break;
      count.drop(minute);
    }
  }
  if (now >= count.nextLapse) dropLapsed(count, now);
};

const dropLapsed = (count: Count, now: number): void => {
  count.nextLapse = Number.POSITIVE_INFINITY;
  for (const [name, { until }] of count.entries) {
    if (until <= now) count.remove(name);
    else count.nextLapse = Math.min(count.nextLapse, until);
  }
};

const spend = (count: Count, amount: bigint, windowMs: number | null, now: number): void => {
  if (amount === 0n) return;
  if (windowMs === null) {
    count.add(0, amount);
    count.keepUntil(now + NO_WINDOW_MS);
    return;
  }
  // By a clock that was set back it would leave the window too early.
  const minute = Math.max(Math.floor(now / MINUTE_MS), count.lastMinute);
  count.add(minute, amount);
  count.keepUntil(toMinuteEnd(minute) + windowMs);
};

/** How a call has ended for which something was reserved. */
export type Settlement = {
  readonly name: string;
  readonly amount: bigint;
  readonly executed: 'yes' | 'no' | 'maybe';
  /** Who says so: the run that reserved it, or who found it out later. */
  readonly by: 'run' | 'other';
  /** More may be heard of it. */
  readonly isWrite: boolean;
};

/** Spends or gives back what was reserved, or keeps it where nobody knows. */
export const settle =
  (settlement: Settlement, terms: WindowTerms): Decide<Count, void> =>
  (count, now) => {
    leaveWindow(count, terms, now);
    const entry = count.entries.get(settlement.name);
    if (settlement.executed === 'yes') settleYes(count, entry, settlement, terms, now);
    else if (entry !== undefined && isHeld(entry)) settleHeld(count, entry, settlement);
  };

const settleYes = (
  count: Count,
  entry: Entry | undefined,
  { name, amount, by }: Settlement,
  { windowMs }: WindowTerms,
  now: number,
): void => {
  if (entry === undefined) {
    if (by === 'run') spend(count, amount, windowMs, now);
    return;
  }
  if (entry.state === 'spent') return;
  spend(count, entry.amount, windowMs, now);
  if (entry.state === 'held' && by === 'run') count.remove(name);
  else mark(count, name, entry, 'spent');
};

const settleHeld = (count: Count, entry: Entry, { name, executed, by, isWrite }: Settlement): void => {
  if (executed === 'maybe') count.set(name, { ...entry, state: 'unknown', tentativeUntil: 0 });
  else if (isWrite || by === 'other' || entry.state === 'unknown') mark(count, name, entry, 'given_back');
  else count.remove(name);
};

const mark = (count: Count, name: string, entry: Entry, state: 'spent' | 'given_back'): void => {
  count.set(name, { ...entry, state, tentativeUntil: 0 });
  if (count.marks <= MOST_MARKS) return;
  for (const [other, { state: ended }] of count.entries)
    if (ended === 'spent' || ended === 'given_back') {
      count.remove(other);
      return;
    }
};

/** Gives back what was reserved for calls that do not run. */
export const release =
  (names: readonly string[]): Decide<Count, void> =>
  (count) => {
    for (const name of names) {
      const entry = count.entries.get(name);
      if (entry !== undefined && isHeld(entry)) count.remove(name);
    }
  };

/** Has reservations count for others at once: no rule refuses their calls any more. */
export const confirm =
  (names: readonly string[]): Decide<Count, void> =>
  (count) => {
    for (const name of names) {
      const entry = count.entries.get(name);
      if (entry !== undefined && entry.tentativeUntil !== 0) count.set(name, { ...entry, tentativeUntil: 0 });
    }
  };

/** Notes a success that others require, by the digest of what must be the same. */
export const noteSuccess =
  (digest: string, withinMs: number): Decide<Count, void> =>
  (count, now) => {
    leaveWindow(count, { windowMs: null }, now);
    count.set(digest, { state: 'success', amount: 0n, since: now, until: now + withinMs, tentativeUntil: 0 });
    if (count.entries.size <= MOST_SUCCESSES) return;
    const oldest = count.entries.keys().next().value;
    if (oldest !== undefined) count.remove(oldest);
  };

/** Whether there was such a success within so many milliseconds. */
export const hasSuccess =
  (digest: string, withinMs: number): Decide<Count, boolean> =>
  ({ entries }, now) => {
    const entry = entries.get(digest);
    return entry?.state === 'success' && entry.since + withinMs > now;
  };

/** What is counted now, in millionths. `until`: when more is left; null: that is not known. */
export type Counted = { readonly spent: bigint; readonly held: bigint; readonly until: number | null };

/** Reads it without changing what is kept. */
export const readCounted =
  ({ windowMs }: WindowTerms): Decide<Count, Counted> =>
  ({ buckets, entries, spent, held }, now) => {
    const leavesAt = (minute: number): number =>
      windowMs === null || minute === 0 ? Number.POSITIVE_INFINITY : toMinuteEnd(minute) + windowMs;
    const gone = [...buckets].filter(([minute]) => leavesAt(minute) <= now).map(([, amount]) => amount);
    const next = [...buckets.keys()].map(leavesAt).find((time) => time > now && Number.isFinite(time));
    const lapsed = [...entries.values()].filter((entry) => isHeld(entry) && entry.until <= now);
    return {
      spent: spent - sumOf(gone),
      held: held - sumOf(lapsed.map(({ amount }) => amount)),
      until: next ?? null,
    };
  };

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, amount) => sum + amount, 0n);
