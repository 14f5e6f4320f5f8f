import type { CallSpec } from '../../executor/pending-calls.ts';
import type { CallProgress, CallRecord, CancelRequest, CommitKind } from '../../pending/call-records.ts';
import { createCall, type StoredCall, toCallRecord } from './call-kind.ts';

type Call = NonNullable<StoredCall['call']>;
type Held = 'held' | 'lost';

/** What a call is to the lists that name it. `unconfirmed`: being made, or never will be. */
export type Peeked = 'gone' | 'ended' | 'unconfirmed' | 'held' | 'waiting';

// A lease that ends later than any can is of a clock that was set back: it is over.
const leaseLeft = ({ leaseEndsAt }: Call, leaseMs: number, now: number): number => {
  const left = leaseEndsAt - now;
  return left > 2 * leaseMs ? 0 : Math.max(0, Math.min(left, leaseMs));
};

// A lease that has run out is no obstacle while no other worker has taken the call.
const findHeld = ({ call }: StoredCall, fence: number): Call | null =>
  call !== null && call.state !== 'ended' && call.fence === fence ? call : null;

/** `ended`: there is one by this name, and it has. */
export const decideCreation = (stored: StoredCall, spec: CallSpec, now: number): 'created' | 'exists' | 'ended' => {
  const { call } = stored;
  if (call?.state === 'ended') return 'ended';
  if (call !== null) {
    call.tries += 1;
    return 'exists';
  }
  stored.call = createCall(spec, now);
  return 'created';
};

export const decideConfirmation = ({ call }: StoredCall): 'confirmed' | 'gone' => {
  if (call === null) return 'gone';
  call.confirmed = true;
  return 'confirmed';
};

/** Takes back a call that only one try of its batch has created and no worker has taken, or asks its worker to end it. */
export const decideWithdrawal = (stored: StoredCall): 'cancelled' | 'done' => {
  const { call } = stored;
  if (call?.tries !== 1) return 'done';
  if (call.fence > 0) {
    decideCancellation(stored, 'asked');
    return 'cancelled';
  }
  stored.call = null;
  return 'done';
};

export const peekCall = ({ call }: StoredCall, leaseMs: number, now: number): Peeked => {
  if (call === null) return 'gone';
  if (call.state === 'ended') return 'ended';
  if (!call.confirmed) return 'unconfirmed';
  return leaseLeft(call, leaseMs, now) > 0 ? 'held' : 'waiting';
};

export const isHeldBy = (stored: StoredCall, fence: number): boolean => findHeld(stored, fence) !== null;

/** `''` as long as nothing has happened to it, else a text that changes with that. */
export const toVersion = ({ call }: StoredCall): string =>
  call === null || call.state === 'ended' ? 'ended' : call.progress;

export type Claimed =
  | { readonly kind: 'held'; readonly fence: number; readonly record: CallRecord }
  | { readonly kind: 'busy'; readonly retryAfterMs: number }
  | { readonly kind: 'ended' }
  | { readonly kind: 'gone' };

/** Takes the call for a worker: of all who do so at once, one holds it. */
export const decideClaim = (stored: StoredCall, leaseMs: number, now: number): Claimed => {
  const { call } = stored;
  const record = toCallRecord(stored);
  if (call === null || record === null) return { kind: 'gone' };
  if (call.state === 'ended') return { kind: 'ended' };
  const left = leaseLeft(call, leaseMs, now);
  if (left > 0) return { kind: 'busy', retryAfterMs: left };
  call.confirmed = true;
  call.fence += 1;
  // Whatever an earlier worker began, this one has not.
  call.state = 'queued';
  call.leaseEndsAt = now + leaseMs;
  return { kind: 'held', fence: call.fence, record: { ...record, state: 'queued' } };
};

/** Notes that the handler begins, before it does, once for each worker, and holds the call for another lease. */
export const decideBegin = (stored: StoredCall, fence: number, leaseMs: number, now: number): Held => {
  const call = findHeld(stored, fence);
  if (call === null) return 'lost';
  if (call.state === 'queued') call.begins += 1;
  call.state = 'running';
  call.leaseEndsAt = now + leaseMs;
  return 'held';
};

export const decideRenewal = (
  stored: StoredCall,
  { fence, progress }: { readonly fence: number; readonly progress: CallProgress | null },
  leaseMs: number,
  now: number,
): { readonly state: Held; readonly cancel: CancelRequest } => {
  const call = findHeld(stored, fence);
  if (call === null) return { state: 'lost', cancel: 'no' };
  call.leaseEndsAt = now + leaseMs;
  if (progress !== null) call.progress = JSON.stringify(progress);
  return { state: 'held', cancel: call.cancel };
};

/** Gives back a call that did not run: as if this worker had not begun. */
export const decideRelease = (stored: StoredCall, fence: number, lackedAt: number | undefined): void => {
  const call = findHeld(stored, fence);
  if (call === null) return;
  if (call.state === 'running') call.begins = Math.max(0, call.begins - 1);
  call.state = 'queued';
  call.leaseEndsAt = 0;
  call.lackedSince = lackedAt === undefined ? null : (call.lackedSince ?? lackedAt);
};

/**
 * Ends the call; gives its spec, or null where it is not this worker's to end. A late end replaces only a result that says that
 * nobody knows how the call ended. A worker whose answer was lost commits the same result again: it has ended the call.
 */
export const decideEnd = (
  { call }: StoredCall,
  { fence, result, how }: { readonly fence: number; readonly result: string; readonly how: CommitKind },
  now: number,
): string | null => {
  if (call === null) return null;
  const isOwn = call.fence === fence;
  if (call.state === 'ended' && isOwn && call.result === result) return call.spec;
  if (call.state === 'ended' ? !(how.late && call.unknown) : !isOwn) return null;
  call.state = 'ended';
  call.endedAt = now;
  call.leaseEndsAt = 0;
  call.unknown = how.unknown;
  call.result = result;
  // What it was asked with is not asked for again.
  call.arguments = '';
  return call.spec;
};

/** Notes that somebody wants the call ended; what was forced stays forced. */
export const decideCancellation = (stored: StoredCall, how: Exclude<CancelRequest, 'no'>): CallRecord | null => {
  const { call } = stored;
  if (call !== null && call.state !== 'ended' && call.cancel !== 'forced') call.cancel = how;
  return toCallRecord(stored);
};

/** After the death of the only process that can have held it: nobody holds it. Gives what lists need; null: it has ended. */
export const decideReturn = (stored: StoredCall): CallSpec | null => {
  const { call } = stored;
  if (call === null || call.state === 'ended') return null;
  call.leaseEndsAt = 0;
  return toCallRecord(stored)?.spec ?? null;
};
