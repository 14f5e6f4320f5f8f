import type { Decide } from 'recourse-server/store/record-store';
import type { Effect, EffectEnd, StoredEffect, UnknownFailure } from './effect-kind.ts';
import { createEffect, EFFECT_TTL_MS } from './effect-kind.ts';

// What each step changes in the record of an effect. All are pure decisions, which a backend keeps atomically.
//
// | state   | meaning                                                                    | next                    |
// |---------|----------------------------------------------------------------------------|-------------------------|
// | (none)  | no write of this effect runs, or it is known how it ended                   | running, open           |
// | running | a process runs it, or has died over it                                      | (none), open            |
// | open    | nobody knows how it ended; one process at a time looks for it               | (none), settled         |
// | settled | it happened, or it did not and will not: then the same effect may run again | running                 |
//
// The fence rises with each run and with each verdict. A run whose fence is not that of the record any more was ruled out by a
// verdict: should it end otherwise than that said, this is a contradiction, and is never dropped.

/** A process renews the lease of its run every 1.5 s. */
export const RUN_LEASE_MS = 5000;
// A host that is told to end, and the word of that, take less.
const END_GRACE_MS = 1000;

export type Begun = { readonly kind: 'held'; readonly fence: number } | { readonly kind: 'lost' };

/** Begins a run, unless another one has begun that is not known to have come to nothing. */
export const beginRun =
  (run: {
    readonly creation: string;
    readonly spec: string;
    readonly timeoutMs: number;
  }): Decide<StoredEffect, Begun> =>
  (stored, now) => {
    const before = stored.effect;
    if (before !== null && !(before.state === 'settled' && before.end?.verdict === 'did_not_happen')) return LOST;
    const fence = (before?.fence ?? 0) + 1;
    const actsUntil = now + run.timeoutMs + END_GRACE_MS;
    const isContradicted = before?.isContradicted ?? false;
    const begun = { ...createEffect(run.creation, run.spec, now), fence, actsUntil, isContradicted };
    stored.effect = { ...begun, leaseEndsAt: now + RUN_LEASE_MS };
    return { kind: 'held', fence };
  };

const LOST: Begun = { kind: 'lost' };

/** Makes an open effect of a write of which a mark alone was left: when its run ends at the latest is counted from now. */
export const adoptRun =
  (run: {
    readonly creation: string;
    readonly spec: string;
    readonly timeoutMs: number;
    readonly failure: UnknownFailure;
  }): Decide<StoredEffect, void> =>
  (stored, now) => {
    if (stored.effect !== null) return;
    const { creation, spec, failure, timeoutMs } = run;
    // Where it has no lease it could still act until then.
    const actsUntil = now + timeoutMs + END_GRACE_MS;
    stored.effect = {
      ...createEffect(creation, spec, now),
      state: 'open',
      fence: 1,
      openedAt: now,
      actsUntil,
      failure,
      // When it began is not known: who looks for what is younger than now would not find it.
      startedAt: now - EFFECT_TTL_MS,
    };
  };

/** Holds a run for another lease. */
export const renewRun =
  (fence: number): Decide<StoredEffect, void> =>
  ({ effect }, now) => {
    if (effect !== null && effect.fence === fence && effect.leaseEndsAt !== 0) effect.leaseEndsAt = now + RUN_LEASE_MS;
  };

/** Takes back a run that did not begin, unless it is looked for already. */
export const withdrawRun =
  (fence: number): Decide<StoredEffect, boolean> =>
  (stored, now) => {
    if (stored.effect?.fence !== fence || stored.effect.state !== 'running') return false;
    closeRun(stored, CAME_TO_NOTHING, now);
    return true;
  };

/** Notes that nobody knows how a run ended. `isOver`: it can no longer act. */
export const openRun =
  (fence: number, failure: UnknownFailure, isOver: boolean): Decide<StoredEffect, void> =>
  ({ effect }, now) => {
    if (effect?.fence !== fence || effect.state === 'settled') return;
    if (effect.state === 'running') Object.assign(effect, { state: 'open', openedAt: now, nextAt: now });
    effect.failure = failure;
    if (isOver) endLease(effect, now);
  };

/** Notes that a run can no longer act. */
export const noteRunOver =
  (fence: number): Decide<StoredEffect, void> =>
  ({ effect }, now) => {
    if (effect?.fence === fence && effect.leaseEndsAt !== 0) endLease(effect, now);
  };

const endLease = (effect: Effect, now: number): void => {
  effect.leaseEndsAt = 0;
  effect.actsUntil = now;
};

/** How a run is known to have ended: with what its call is answered, or that it had no effect. */
export type RunEnd = { readonly executed: 'yes' | 'no' | 'maybe'; readonly end: EffectEnd | null };

/** `ended`: nothing of it is to be looked for any more. `late`: its effect was open. `contradiction`: a verdict had said otherwise. */
export type RunEnded = 'ended' | 'late' | 'agreed' | 'contradiction';

/** Ends a run. One that contradicts that it did not happen counts as happened from now on, where no other run has begun. */
export const endRun =
  (fence: number, run: RunEnd): Decide<StoredEffect, RunEnded> =>
  (stored, now) => {
    const { effect } = stored;
    if (effect === null) return 'ended';
    if (effect.fence !== fence) return compareEnd(effect, fence, run, now);
    const wasOpen = effect.state === 'open';
    closeRun(stored, run.end ?? CAME_TO_NOTHING, now);
    return wasOpen ? 'late' : 'ended';
  };

const closeRun = (stored: StoredEffect, end: EffectEnd, now: number): void => {
  // An earlier run of it may end yet, of which a verdict has said that it did not happen.
  if (stored.effect !== null && stored.effect.fence > 1) settle(stored.effect, end, now, true);
  else stored.effect = null;
};

/** The end of a run that a verdict has ruled out. */
const compareEnd = (
  effect: Effect,
  fence: number,
  { executed, end }: RunEnd,
  now: number,
): 'agreed' | 'contradiction' => {
  const isSettled = effect.state === 'settled';
  const saidHappened = isSettled && effect.fence === fence + 1 && effect.end?.verdict === 'happened';
  if (executed === 'maybe' || saidHappened === (executed === 'yes')) return 'agreed';
  effect.isContradicted = true;
  if (end !== null && isSettled && effect.end?.verdict === 'did_not_happen') settle(effect, end, now);
  return 'contradiction';
};

const settle = (effect: Effect, end: EffectEnd, now: number, isApplied = false): void => {
  effect.openedAt ||= now;
  Object.assign(effect, { state: 'settled', end, settledAt: now, leaseEndsAt: 0, checkEndsAt: 0, isApplied });
  effect.fence += 1;
};

const CAME_TO_NOTHING: EffectEnd = {
  ...{ verdict: 'did_not_happen', by: 'run', valueJson: 'null', message: '', problem: null, reason: null },
};

/** A look at an effect that one process may take. */
export type Look = { readonly fence: number; readonly attempt: number };

export type LookClaim =
  | { readonly kind: 'gone' }
  | { readonly kind: 'settled'; readonly effect: Effect }
  /** It runs, or another process looks. */
  | { readonly kind: 'busy'; readonly retryAfterMs: number }
  | { readonly kind: 'held'; readonly look: Look; readonly effect: Effect };

/** Takes the next look, for so many milliseconds. `afterMs`: how long after its end a run may still take effect. */
export const claimLook =
  (checkMs: number, afterMs: number): Decide<StoredEffect, LookClaim> =>
  ({ effect }, now) => {
    if (effect === null) return GONE;
    if (effect.state === 'settled') return { kind: 'settled', effect: { ...effect } };
    const busyUntil = Math.max(effect.state === 'running' ? effect.leaseEndsAt : 0, effect.checkEndsAt);
    if (busyUntil > now) return { kind: 'busy', retryAfterMs: busyUntil - now };
    if (effect.state === 'running') Object.assign(effect, { state: 'open', openedAt: findRunEnd(effect) });
    takeLook(effect, checkMs, afterMs, now);
    return { kind: 'held', look: { fence: effect.fence, attempt: effect.attempts }, effect: { ...effect } };
  };

/** Since when its run is over, or nobody holds it any more. */
const findRunEnd = ({ leaseEndsAt, actsUntil }: Effect): number => (leaseEndsAt === 0 ? actsUntil : leaseEndsAt);

const takeLook = (effect: Effect, checkMs: number, afterMs: number, now: number): void => {
  effect.attempts += 1;
  effect.checkEndsAt = now + checkMs;
  effect.isRunOver = effect.leaseEndsAt <= now && now >= effect.actsUntil + afterMs;
};

const GONE: LookClaim = { kind: 'gone' };

/** What a look has come to. `unclear`: when it is worth looking again; null: by the service's own delays. */
export type LookEnd =
  | { readonly kind: 'found'; readonly end: EffectEnd }
  | { readonly kind: 'unclear'; readonly retryAfterMs: number | null };

export type LookVerdict =
  | { readonly kind: 'settled'; readonly effect: Effect }
  /** `isTooEarly`: that it did not happen cannot be believed yet. */
  | { readonly kind: 'unclear'; readonly nextMs: number; readonly isTooEarly: boolean }
  /** Another look, the run itself or a person was faster. */
  | { readonly kind: 'overtaken' };

type LookTerms = { readonly delays: readonly number[]; readonly afterMs: number };

/** Ends a look. That it did not happen counts only where the run could no longer act when the look began. */
export const endLook =
  (look: Look, found: LookEnd, terms: LookTerms): Decide<StoredEffect, LookVerdict> =>
  ({ effect }, now) => {
    if (effect?.state !== 'open' || effect.fence !== look.fence || effect.attempts !== look.attempt) return OVERTAKEN;
    if (found.kind === 'unclear') return putOff(effect, found.retryAfterMs ?? findDelay(look, terms), false, now);
    const isTooEarly = found.end.verdict === 'did_not_happen' && !effect.isRunOver;
    if (isTooEarly) return putOff(effect, untilOver(effect, findDelay(look, terms), terms, now), true, now);
    settle(effect, found.end, now);
    return { kind: 'settled', effect: { ...effect } };
  };

const putOff = (effect: Effect, nextMs: number, isTooEarly: boolean, now: number): LookVerdict => {
  effect.checkEndsAt = 0;
  effect.nextAt = now + nextMs;
  return { kind: 'unclear', nextMs, isTooEarly };
};

const LAST_DELAY_MS = 1000;
const findDelay = ({ attempt }: Look, { delays }: LookTerms): number =>
  delays[attempt - 1] ?? delays.at(-1) ?? LAST_DELAY_MS;

/** As soon as it can be believed that it did not happen it is worth another look. */
const untilOver = ({ actsUntil }: Effect, delayMs: number, { afterMs }: LookTerms, now: number): number => {
  const leftMs = actsUntil + afterMs - now;
  return leftMs > 0 ? Math.min(delayMs, leftMs) : delayMs;
};

const OVERTAKEN: LookVerdict = { kind: 'overtaken' };

export type HandVerdict =
  | { readonly kind: 'settled'; readonly effect: Effect }
  | { readonly kind: 'gone' | 'running' | 'other_fence' | 'already_settled'; readonly fence: number };

/** Settles an open effect by the word of a person, who has read the record of this fence. */
export const settleByHand =
  (fence: number, end: EffectEnd): Decide<StoredEffect, HandVerdict> =>
  ({ effect }, now) => {
    if (effect === null) return { kind: 'gone', fence: 0 };
    if (effect.state === 'settled') return { kind: 'already_settled', fence: effect.fence };
    if (effect.leaseEndsAt > now) return { kind: 'running', fence: effect.fence };
    if (effect.fence !== fence) return { kind: 'other_fence', fence: effect.fence };
    effect.openedAt ||= effect.leaseEndsAt;
    settle(effect, end, now);
    return { kind: 'settled', effect: { ...effect } };
  };

/** Notes that what was found out stands everywhere; tells the first who says so. */
export const markApplied =
  (fence: number): Decide<StoredEffect, boolean> =>
  ({ effect }) => {
    if (effect?.fence !== fence || effect.isApplied) return false;
    effect.isApplied = true;
    return true;
  };
