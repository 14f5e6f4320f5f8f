import type { Admission, Budget, Permit, Round, SessionStore, ToolOutcome } from '../executor/session-store.ts';
import type { StoreObserver, StoreOperation } from '../executor/store-observer.ts';
import type { MemorySessionStore } from './memory-session-store.ts';

/** What happens to budgets while the shared store is away: counted in this process, not counted, or calls refused. */
export type StoreDownPolicy = 'local' | 'open' | 'closed';

// One probe a second: an outage costs one time-out per second and replica, not one per batch.
const PROBE_INTERVAL_MS = 1000;

/** A store that may say by itself that it is lost or back, so that nobody has to ask in vain to learn it. */
export type WatchedSessionStore = SessionStore & {
  readonly watch?: (watcher: {
    /** Its connection is gone. */
    readonly lost: () => void;
    /** It is connected and serves. */
    readonly back: () => void;
    /** It is connected and does not serve. */
    readonly refused: (error: unknown) => void;
  }) => void;
};

export type FallbackSessionStore = SessionStore & {
  /** Whether the primary store served the last time it was asked, and has not been lost since. */
  readonly isUp: () => boolean;
};

/**
 * Stands before a store that can fail and never rejects: while it is away the policy decides, and what was counted
 * here meanwhile is dropped when it is back. A round settles in the store that admitted it or nowhere.
 */
export const createFallbackSessionStore = (options: {
  readonly primary: WatchedSessionStore;
  readonly local: MemorySessionStore;
  readonly policy: StoreDownPolicy;
  readonly observer: StoreObserver;
  readonly now: () => number;
}): FallbackSessionStore => {
  const { primary, local, observer, now } = options;
  let downUntil = 0;
  let up = true;
  const lost = (): void => {
    downUntil = now() + PROBE_INTERVAL_MS;
    if (up) observer.availabilityChanged('down');
    up = false;
  };
  const fell = (operation: StoreOperation, error: unknown): void => {
    observer.operationFailed(operation, error);
    lost();
  };
  const recovered = (): void => {
    downUntil = 0;
    if (up) return;
    up = true;
    local.clear();
    observer.availabilityChanged('up');
  };
  primary.watch?.({ lost, back: recovered, refused: (error) => fell('connect', error) });
  const admitElsewhere = {
    local: (round: Round) => local.admit(round),
    open: async (round: Round) => admitUncounted(round, { decision: 'free', budget: null }),
    closed: async (round: Round) => admitUncounted(round, { decision: 'unavailable' }),
  }[options.policy];
  const settleSafely = async (
    admission: Admission,
    outcomes: readonly ToolOutcome[],
  ): Promise<ReadonlyMap<string, Budget>> => {
    const startedAt = now();
    // Batches that were running when it went away: each would wait for a time-out of its own.
    if (!up) return estimateBudgets(admission, outcomes);
    try {
      const budgets = await admission.settle(outcomes);
      // None: there was nothing to settle, and the store was not asked.
      if (budgets.size > 0) observer.operationEnded('settle', now() - startedAt);
      return budgets;
    } catch (error) {
      fell('settle', error);
      return estimateBudgets(admission, outcomes);
    }
  };

  return {
    isUp: () => up,
    admit: async (round) => {
      const startedAt = now();
      if (startedAt < downUntil) return admitElsewhere(round);
      // While it is down this batch is the probe; those beside it need not wait for it.
      if (!up) downUntil = startedAt + PROBE_INTERVAL_MS;
      try {
        const admission = await primary.admit(round);
        observer.operationEnded('admit', now() - startedAt);
        recovered();
        return { ...admission, settle: (outcomes) => settleSafely(admission, outcomes) };
      } catch (error) {
        fell('admit', error);
        return admitElsewhere(round);
      }
    },
  };
};

const admitUncounted = (round: Round, permit: Permit): Admission => ({
  mode: 'local',
  scope: 'session',
  permits: new Map(round.tools.map(({ name }) => [name, permit])),
  settle: async () => new Map(),
});

// A time-out means "maybe applied", so it is never sent again. What the caller reads is then the likeliest: applied.
const estimateBudgets = (admission: Admission, outcomes: readonly ToolOutcome[]): ReadonlyMap<string, Budget> => {
  const budgets = new Map<string, Budget>();
  for (const outcome of outcomes) {
    const permit = admission.permits.get(outcome.name);
    if (permit === undefined || permit.decision === 'unavailable' || permit.budget === null) continue;
    budgets.set(outcome.name, afterwards(permit.budget, permit.decision, outcome));
  }
  return budgets;
};

const afterwards = (budget: Budget, decision: Permit['decision'], outcome: ToolOutcome): Budget => {
  const { failed, succeeded, interrupted } = outcome;
  if (decision === 'denied') return budget;
  const reserved = decision === 'retry' ? 1 : 0;
  if (failed && !succeeded) return { ...budget, failures: budget.failures + 1, used: budget.used + reserved };
  if (interrupted && !succeeded) return budget;
  return { ...budget, remaining: budget.remaining + reserved };
};
