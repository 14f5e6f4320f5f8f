import { isNoRecord, type Records } from 'recourse-server/store/record-store';
import type { DueEntry, DueIndex } from '../jobs/due-index.ts';
import { type Call, HEAD_FIELDS, type StoredCall } from './call-kind.ts';
import type { Peeked } from './session-calls.ts';

/** How long a worker that does not renew its lease holds a call, in milliseconds. */
export const LEASE_MS = 5000;
/** How often it renews: three renewals may get lost, and the fourth may take a second. */
export const RENEW_EVERY_MS = 1000;

// Sweeps come once a second. A process that has not heard of the store for longer was stopped, was blocked, or had no store.
const MOST_GAP_MS = 2000;

// A call that waits is looked at once in so many milliseconds. One that is held is looked at when its lease ends.
const LOOK_AFTER_MS = 15_000;
/** The first look at a call, which may have got no job, and the next one at a call that is being looked at. */
export const LOOK_SOON_MS = 2000;
// Of entries that one question for calls that are due goes through: many have a worker.
const DUE_ROUNDS = 100;

/** What a look at a call finds. `leftMs`: until its lease may be taken. */
type Look = { readonly state: Peeked; readonly leftMs: number };

const GONE: Look = { state: 'gone', leftMs: 0 };

/**
 * When the lease of a call may be taken: once it has lapsed, but not by a process that has only just heard of the store again, for then
 * its owner may have had none either, and renews first. Times are the store's: where its clock jumps, leases lapse whose owners live.
 *
 * | state      | a lapsed lease       | becomes                                                                                |
 * |------------|----------------------|----------------------------------------------------------------------------------------|
 * | free       | may be taken         | unheard: the store came back. waiting: it answers a sweep over 2 s after the last one  |
 * | unheard    | is left to its owner | waiting: the store answers a sweep                                                     |
 * | waiting    | is left to its owner | free: one lease later. unheard, waiting: as from free                                  |
 */
export class CallLeases {
  /** By the store's clock. Infinity: unheard. */
  #freeFrom = Number.NEGATIVE_INFINITY;
  /** The last sweep that the store answered: its time, and when it was asked by `performance.now()`; null: there was none. */
  #answered: { readonly storeTime: number; readonly askedAt: number } | null = null;

  readonly #calls: Pick<Records<StoredCall>, 'read'>;
  readonly #live: DueIndex;

  /** `onReturn`: calls the listener each time the store is back after it was away. */
  constructor(calls: Pick<Records<StoredCall>, 'read'>, live: DueIndex, onReturn: (listener: () => void) => void) {
    this.#calls = calls;
    this.#live = live;
    onReturn(() => this.#leaveToOwners());
  }

  /** Calls that no worker holds and whose time to be looked at has come, at most so many. */
  async due(most: number): Promise<readonly string[]> {
    const due: string[] = [];
    for (let round = 0; round < DUE_ROUNDS && due.length < most; round += 1) {
      const wanted = most - due.length;
      const askedAt = performance.now();
      const { now, entries } = await this.#live.popDue(wanted, LOOK_SOON_MS);
      this.#heard(now, askedAt);
      const areDue = await Promise.all(entries.map((entry) => this.#isDue(entry, now + LOOK_SOON_MS)));
      due.push(...entries.flatMap(({ key }, place) => (areDue[place] === true ? [key] : [])));
      if (entries.length < wanted) break;
    }
    return due;
  }

  async look(key: string): Promise<Look> {
    return (await this.#calls.read(key, this.#look, HEAD_FIELDS)) ?? GONE;
  }

  /** Whether the call is due, which is so again at `dueAgainAt`. One that is held is looked at again when its lease may be taken. */
  async #isDue(entry: DueEntry, dueAgainAt: number): Promise<boolean> {
    const found = await this.look(entry.key).then(undefined, (error: unknown) => (isNoRecord(error) ? GONE : null));
    // A part of the store is away: its owners cannot renew, either.
    if (found === null) this.#leaveToOwners();
    if (found?.state === 'gone' || found?.state === 'ended') void this.#live.leave(entry).then(ignore, ignore);
    if (found?.state !== 'held' && found?.state !== 'waiting') return false;
    const afterMs = found.state === 'held' ? found.leftMs : LOOK_AFTER_MS;
    void this.#live.putOff(entry, dueAgainAt, afterMs).then(ignore, ignore);
    return found.state === 'waiting';
  }

  /** The store has answered a sweep, at this time of its clock. A process may have been stopped since it asked. */
  #heard(storeTime: number, askedAt: number): void {
    const gapMs = this.#answered === null ? 0 : Math.abs(storeTime - this.#answered.storeTime);
    this.#answered = { storeTime, askedAt };
    if (gapMs > MOST_GAP_MS || this.#freeFrom === Number.POSITIVE_INFINITY) this.#freeFrom = storeTime + LEASE_MS;
  }

  /** The store is back after it was away, or a part of it does not answer. */
  #leaveToOwners(): void {
    this.#freeFrom = Number.POSITIVE_INFINITY;
  }

  /** Milliseconds until the lease of the call may be taken; 0: no worker holds it, or its lease has lapsed. */
  leftMs({ leaseEndsAt }: Call, storeTime: number): number {
    if (leaseEndsAt === 0) return 0;
    const left = leaseEndsAt - storeTime;
    // One that ends later than any can is of a clock that was set back: it has lapsed.
    if (left > 0 && left <= 2 * LEASE_MS) return Math.min(left, LEASE_MS);
    const isUnheard = this.#answered !== null && performance.now() - this.#answered.askedAt > MOST_GAP_MS;
    return isUnheard ? LEASE_MS : Math.max(0, Math.min(LEASE_MS, this.#freeFrom - storeTime));
  }

  readonly #look = ({ call }: StoredCall, storeTime: number): Look => {
    if (call === null) return GONE;
    const leftMs = this.leftMs(call, storeTime);
    if (call.state === 'ended') return { state: 'ended', leftMs };
    if (!call.confirmed) return { state: 'unconfirmed', leftMs };
    return { state: leftMs > 0 ? 'held' : 'waiting', leftMs };
  };
}

const ignore = (): void => undefined;
