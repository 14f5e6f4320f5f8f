import type { Call, StoredCall } from './call-kind.ts';
import type { Peeked } from './session-calls.ts';

/** How long a worker that does not renew its lease holds a call, in milliseconds. */
export const LEASE_MS = 5000;
/** How often it renews: three renewals may get lost, and the fourth may take a second. */
export const RENEW_EVERY_MS = 1000;

// Sweeps come once a second. A process that has not heard of the store for longer was stopped, was blocked, or had no store.
const MOST_GAP_MS = 2000;

/** What a look at a call finds. `leftMs`: until its lease may be taken. */
export type Look = { readonly state: Peeked; readonly leftMs: number };

export const GONE: Look = { state: 'gone', leftMs: 0 };

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
  #heard: { readonly storeTime: number; readonly askedAt: number } | null = null;

  /** The store has answered a sweep, at this time of its clock. A process may have been stopped since it asked. */
  heard(storeTime: number, askedAt: number): void {
    const gapMs = this.#heard === null ? 0 : Math.abs(storeTime - this.#heard.storeTime);
    this.#heard = { storeTime, askedAt };
    if (gapMs > MOST_GAP_MS || this.#freeFrom === Number.POSITIVE_INFINITY) this.#freeFrom = storeTime + LEASE_MS;
  }

  /** The store is back after it was away, or a part of it does not answer. */
  leaveToOwners(): void {
    this.#freeFrom = Number.POSITIVE_INFINITY;
  }

  /** Milliseconds until the lease of the call may be taken; 0: no worker holds it, or its lease has lapsed. */
  leftMs({ leaseEndsAt }: Call, storeTime: number): number {
    if (leaseEndsAt === 0) return 0;
    const left = leaseEndsAt - storeTime;
    // One that ends later than any can is of a clock that was set back: it has lapsed.
    if (left > 0 && left <= 2 * LEASE_MS) return Math.min(left, LEASE_MS);
    const isUnheard = this.#heard !== null && performance.now() - this.#heard.askedAt > MOST_GAP_MS;
    return isUnheard ? LEASE_MS : Math.max(0, Math.min(LEASE_MS, this.#freeFrom - storeTime));
  }

  readonly look = ({ call }: StoredCall, storeTime: number): Look => {
    if (call === null) return GONE;
    const leftMs = this.leftMs(call, storeTime);
    if (call.state === 'ended') return { state: 'ended', leftMs };
    if (!call.confirmed) return { state: 'unconfirmed', leftMs };
    return { state: leftMs > 0 ? 'held' : 'waiting', leftMs };
  };
}
