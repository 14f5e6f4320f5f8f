import type { Decide } from 'recourse-server/store/record-store';
import type { Approval, ApprovalState, NewApproval, StoredApproval, StoredPointer } from './approval-kind.ts';
import { createApproval } from './approval-kind.ts';

// What each step changes in the record of an approval. All are pure decisions, which a backend keeps atomically.
//
// | state     | meaning                                                                 | next                                        |
// |-----------|-------------------------------------------------------------------------|---------------------------------------------|
// | (none)    | nobody was asked                                                        | waiting                                     |
// | waiting   | a person may decide, until `endsAt`                                     | granted, denied, expired, cancelled, stale  |
// | granted   | its call may run, until `endsAt`; the first one that claims it does     | used, expired, cancelled, stale             |
// | used      | one call has claimed it: that one may run again, and no other           | granted, where that one never began         |
// | denied    | the same call is refused, until `endsAt`                                | expired, cancelled                          |
// | expired   | nobody decided in time, or the call did not run in time after that      | waiting, of a pending call that asks again  |
// | cancelled | it was withdrawn, by a person or because its call was cancelled         | the same                                    |
// | stale     | the tool, or a right, has changed since: what was approved cannot run   | the same                                    |
//
// Time alone makes `expired` of a state: each step brings the record up to date first.

const HOLDS: ReadonlySet<ApprovalState> = new Set(['waiting', 'granted', 'denied']);

/** The approval as it is at that time. */
const current = ({ approval }: StoredApproval, now: number): Approval | null => {
  if (approval !== null && HOLDS.has(approval.state) && now >= approval.endsAt)
    end(approval, 'expired', approval.endsAt);
  return approval;
};

const end = (approval: Approval, state: ApprovalState, at: number): void => {
  Object.assign(approval, { state, endsAt: 0, endedAt: at });
};

/** The state at that time, and until when it holds. */
export const describeAt = (stored: StoredApproval, now: number): Approval | null => {
  const { approval } = stored;
  return approval === null ? null : current({ approval: { ...approval } }, now);
};

export type Asked = { readonly isNew: boolean; readonly approval: Approval };

/** Asks for an approval; where the same one was asked for before, tells where it stands. One that is over and was never used begins anew. */
export const ask =
  (made: NewApproval, ifOver: 'anew' | 'tell'): Decide<StoredApproval, Asked> =>
  (stored, now) => {
    const before = current(stored, now);
    const isOver = before !== null && !HOLDS.has(before.state) && before.state !== 'used';
    if (before !== null && !(isOver && ifOver === 'anew')) return { isNew: false, approval: { ...before } };
    stored.approval = createApproval(made, now);
    return { isNew: true, approval: { ...stored.approval } };
  };

export type Claimed = 'claimed' | Exclude<ApprovalState, 'granted'> | 'gone';

/** Claims a grant for a call, which may claim it again. `verdict`: as the claimer has read it. */
export const claim =
  (by: string, verdict: string | null): Decide<StoredApproval, Claimed> =>
  (stored, now) => {
    const approval = current(stored, now);
    if (approval === null) return 'gone';
    const { state } = approval;
    if (state === 'used' && approval.usedBy === by && approval.verdict === verdict) return 'claimed';
    if (state !== 'granted') return state;
    // Decided anew since it was read.
    if (approval.verdict !== verdict) return 'stale';
    Object.assign(approval, { usedBy: by, isReleased: true });
    end(approval, 'used', now);
    return 'claimed';
  };

/** Gives a claimed grant back whose call never began. */
export const unclaim =
  (by: string): Decide<StoredApproval, void> =>
  ({ approval }, now) => {
    if (approval?.state !== 'used' || approval.usedBy !== by) return;
    const endsAt = approval.decidedAt + approval.expiresMs;
    if (endsAt > now) Object.assign(approval, { state: 'granted', endsAt, endedAt: 0, usedBy: null });
  };

export type Decided = {
  readonly kind: 'decided' | 'too_late' | 'other_digest';
  readonly approval: Approval;
} | null;

/** Writes down what a person who has read this digest decides. `next`: the digest of what may run then. */
export const decide =
  (
    read: string,
    made: { readonly state: 'granted' | 'denied'; readonly digest: string; readonly verdict: string },
  ): Decide<StoredApproval, Decided> =>
  (stored, now) => {
    const approval = current(stored, now);
    if (approval === null) return null;
    if (approval.state !== 'waiting') return { kind: 'too_late', approval: { ...approval } };
    if (approval.digest !== read) return { kind: 'other_digest', approval: { ...approval } };
    const { state, digest, verdict } = made;
    Object.assign(approval, { state, digest, verdict, decidedAt: now, endsAt: now + approval.expiresMs });
    return { kind: 'decided', approval: { ...approval } };
  };

/** Ends one that waits, is granted or denied; tells the approval where this step has ended it. */
export const withdraw =
  (
    state: 'cancelled' | 'stale' | 'expired',
    from: readonly ApprovalState[] = ['waiting', 'granted', 'denied'],
  ): Decide<StoredApproval, { readonly isFirst: boolean; readonly approval: Approval } | null> =>
  (stored, now) => {
    const approval = current(stored, now);
    if (approval === null) return null;
    const isFirst = from.includes(approval.state);
    if (isFirst) end(approval, state, now);
    return { isFirst, approval: { ...approval } };
  };

/** Brings it up to date. */
export const refresh: Decide<StoredApproval, Approval | null> = (stored, now) => {
  const approval = current(stored, now);
  return approval === null ? null : { ...approval };
};

/** Notes that who waits for it knows; tells the first who says so. */
export const markReleased: Decide<StoredApproval, boolean> = ({ approval }) => {
  if (approval === null || approval.state === 'waiting' || approval.isReleased) return false;
  approval.isReleased = true;
  return true;
};

/** Has a repeat be led to this approval, unless it is led to another one than that which is over. */
export const point =
  (id: string, over: string | null, expiresMs: number): Decide<StoredPointer, string> =>
  (pointer) => {
    if (pointer.id !== null && pointer.id !== over) return pointer.id;
    Object.assign(pointer, { id, expiresMs });
    return id;
  };

/** Has a repeat be led to this approval, whatever it was led to. */
export const redirect =
  (id: string, expiresMs: number): Decide<StoredPointer, void> =>
  (pointer) => {
    Object.assign(pointer, { id, expiresMs });
  };
