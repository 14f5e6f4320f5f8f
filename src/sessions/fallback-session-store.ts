import type { Admission, Budget, Permit, Round, SessionStore, ToolOutcome } from '../executor/session-store.ts';
import type { StoreObserver, StoreOperation } from '../executor/store-observer.ts';
import type { MemorySessionStore } from './memory-session-store.ts';

/** What happens to budgets while the shared store is away: counted in this process, not counted, or calls refused. */
export type StoreDownPolicy = 'local' | 'open' | 'closed';

// One probe a second: an outage costs one time-out per second and replica, not one per batch.
const PROBE_INTERVAL_MS = 1000;

export type FallbackSessionStore = SessionStore & {
  /** Whether the primary store served the last time it was asked. */
  readonly isUp: () => boolean;
};

/**
 * Stands before a store that can fail and never rejects: while it is away the policy decides, and what was counted
 * here meanwhile is dropped when it is back. A round settles in the store that admitted it or nowhere.
 */
export const createFallbackSessionStore = (options: {
  readonly primary: SessionStore;
  readonly local: MemorySessionStore;
  readonly policy: StoreDownPolicy;
  readonly observer: StoreObserver;
  readonly now: () => number;
}): FallbackSessionStore => {
  const { primary, local, observer, now } = options;
  let downUntil = 0;
  let up = true;
  const fell = (operation: StoreOperation, error: unknown): void => {
    downUntil = now() + PROBE_INTERVAL_MS;
    observer.operationFailed(operation, error);
    if (up) observer.availabilityChanged('down');
    up = false;
  };
  const served = (operation: StoreOperation, startedAt: number): void => {
    observer.operationEnded(operation, now() - startedAt);
    if (up) return;
    up = true;
    local.clear();
    observer.availabilityChanged('up');
  };
  const admitElsewhere = {
    local: (round: Round) => local.admit(round),
    open: async (round: Round) => admitUncounted(round, { decision: 'free', budget: null }),
    closed: async (round: Round) => admitUncounted(round, { decision: 'unavailable' }),
  }[options.policy];

  return {
    isUp: () => up,
    admit: async (round) => {
      const startedAt = now();
      if (startedAt < downUntil) return admitElsewhere(round);
      // While it is down this batch is the probe; those beside it need not wait for it.
      if (!up) downUntil = startedAt + PROBE_INTERVAL_MS;
      try {
        const admission = await primary.admit(round);
        served('admit', startedAt);
        return withSafeSettle(admission, { now, served, fell });
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

type Watch = {
  readonly now: () => number;
  readonly served: (operation: StoreOperation, startedAt: number) => void;
  readonly fell: (operation: StoreOperation, error: unknown) => void;
};

const withSafeSettle = (admission: Admission, watch: Watch): Admission => ({
  ...admission,
  settle: async (outcomes) => {
    const startedAt = watch.now();
    try {
      const budgets = await admission.settle(outcomes);
      watch.served('settle', startedAt);
      return budgets;
    } catch (error) {
      watch.fell('settle', error);
      return estimateBudgets(admission, outcomes);
    }
  },
});

// A time-out means "maybe applied", so it is never sent again. What the caller reads is then the likeliest: applied.
const estimateBudgets = (admission: Admission, outcomes: readonly ToolOutcome[]): ReadonlyMap<string, Budget> => {
  const budgets = new Map<string, Budget>();
  for (const { name, failed, succeeded } of outcomes) {
    const permit = admission.permits.get(name);
    if (permit === undefined || permit.decision === 'unavailable' || permit.budget === null) continue;
    budgets.set(name, afterwards(permit.budget, permit.decision, failed && !succeeded));
  }
  return budgets;
};

const afterwards = (budget: Budget, decision: Permit['decision'], isFailed: boolean): Budget => {
  if (decision === 'denied') return budget;
  const reserved = decision === 'retry' ? 1 : 0;
  if (!isFailed) return { ...budget, remaining: budget.remaining + reserved };
  return { ...budget, failures: budget.failures + 1, used: budget.used + reserved };
};
