import type { HeldRecord, KeyedStore } from '../executor/keyed-store.ts';
import {
  type Admission,
  type Budget,
  type Permit,
  type Round,
  type SessionStore,
  StoreUnavailableError,
  type ToolOutcome,
} from '../executor/session-store.ts';
import type { StoreOperation } from '../executor/store-observer.ts';
import { NO_TICKET } from './late-rounds.ts';
import type { StoreAvailability } from './store-availability.ts';

/** What happens to sessions while the shared store is away: counted in this process, not counted, or calls refused. */
export type StoreDownPolicy = 'local' | 'open' | 'closed';

export type FallbackSessionStore = SessionStore & Pick<StoreAvailability, 'isUp'>;

/**
 * Stands before a store that can fail: while it is away the policy decides, and no batch notices more than that. A
 * round settles in the store that admitted it or nowhere. What was asked for and cannot be done rejects with
 * `StoreUnavailableError`: ending, resetting, and, unless the policy is `local`, reading.
 */
export const createFallbackSessionStore = (options: {
  readonly primary: SessionStore;
  /** To be cleared when the primary store is back. */
  readonly local: SessionStore;
  readonly policy: StoreDownPolicy;
  readonly availability: StoreAvailability;
}): FallbackSessionStore => {
  const { primary, local, policy, availability } = options;
  const admitWhileAway = {
    local: (round: Round) => local.admit(round),
    open: (round: Round) => admitUncounted(round, { decision: 'free', budget: null }),
    closed: (round: Round) => admitUncounted(round, { decision: 'unavailable' }),
  }[policy];
  const settleWhileUp = (admission: Admission): Admission => ({
    mode: admission.mode,
    scope: admission.scope,
    step: admission.step,
    permits: admission.permits,
    verdicts: admission.verdicts,
    ticketOf: (tool) => admission.ticketOf(tool),
    settle: async (report) => {
      const settled = await availability.attemptWhileUp('settle', () => admission.settle(report));
      return settled.kind === 'answered' ? settled.answer : estimateBudgets(admission, report.outcomes);
    },
    addLate: async (json) => void (await availability.attemptWhileUp('late', () => admission.addLate(json))),
  });
  const insist = async <Answer>(
    operation: StoreOperation,
    ask: () => Promise<Answer>,
    whileAway: (since: string) => Promise<Answer> | null = () => null,
  ): Promise<Answer> => {
    const attempt = await availability.attemptWhileUp(operation, ask);
    if (attempt.kind === 'answered') return attempt.answer;
    // A reading that is late takes no store away, and then nothing was counted here.
    const since = availability.awaySince();
    const answer = since === null ? null : whileAway(since);
    if (answer !== null) return answer;
    throw new StoreUnavailableError('The session store is unavailable.');
  };
  return {
    isUp: availability.isUp,
    admit: async (round) => {
      const admitted = await availability.attempt('admit', () => primary.admit(round));
      return admitted.kind === 'answered' ? settleWhileUp(admitted.answer) : admitWhileAway(round);
    },
    // What was let in while the store was away is settled nowhere: its ticket names a session of another store.
    resume: (late) => settleWhileUp(primary.resume(late)),
    read: (sessionKey) =>
      insist(
        'read',
        () => primary.read(sessionKey),
        (since) => (policy === 'local' ? local.read(sessionKey).then((record) => ({ ...record, since })) : null),
      ),
    end: (sessionKey) => insist('end', () => primary.end(sessionKey)),
    reset: (sessionKey, tool) => insist('reset', () => primary.reset(sessionKey, tool)),
  };
};

const admitUncounted = (round: Round, permit: Permit): Admission => ({
  mode: 'local',
  scope: 'session',
  step: 0,
  permits: new Map(round.tools.map(({ name }) => [name, permit])),
  verdicts: [],
  ticketOf: () => NO_TICKET,
  settle: () => new Map(),
  addLate: async () => undefined,
});

// A time-out means "maybe applied", so it is never sent again. What the caller reads is then the likeliest: applied.
const estimateBudgets = (admission: Admission, outcomes: readonly ToolOutcome[]): ReadonlyMap<string, Budget> => {
  const budgets = new Map<string, Budget>();
  for (const outcome of outcomes) {
    const permit = admission.permits.get(outcome.name);
    if (permit === undefined || permit.decision === 'unavailable' || permit.budget === null) continue;
    budgets.set(outcome.name, estimateBudget(permit.budget, permit.decision, outcome));
  }
  return budgets;
};

const estimateBudget = (budget: Budget, decision: Permit['decision'], outcome: ToolOutcome): Budget => {
  const { failed, succeeded, interrupted } = outcome;
  if (decision === 'denied' || decision === 'idle') return budget;
  const reserved = decision === 'retry' ? 1 : 0;
  if (failed && !succeeded) return { ...budget, failures: budget.failures + 1, used: budget.used + reserved };
  if (interrupted && !succeeded) return budget;
  return { ...budget, remaining: budget.remaining + reserved };
};

/**
 * Stands before a store that can fail: while it is away `open` and `find` say `unavailable` and never reject, and a mark in
 * a record that a batch holds rejects at once, so that an outage costs one time-out and not one a call. What is fenced, and
 * lost where it is not asked, is asked in any state.
 */
export const createFallbackKeyedStore = (options: {
  readonly primary: KeyedStore;
  readonly availability: StoreAvailability;
}): KeyedStore => {
  const { primary, availability } = options;
  type Attempt = StoreAvailability['attemptAlways'];
  const insist = async <Answer>(attempt: Attempt, ask: () => Promise<Answer>): Promise<Answer> => {
    const attempted = await attempt('keyed', ask);
    if (attempted.kind === 'away') throw new Error('The store of idempotency records is unavailable.');
    return attempted.answer;
  };
  const { attemptWhileUp, attemptAlways } = availability;
  const guard = (record: HeldRecord): HeldRecord => ({
    earlier: record.earlier,
    mayBePending: record.mayBePending,
    start: (index) => insist(attemptWhileUp, () => record.start(index)),
    renew: () => insist(attemptAlways, record.renew),
    commit: (results) => insist(attemptAlways, () => record.commit(results)),
    amend: (index, result) => insist(attemptAlways, () => record.amend(index, result)),
  });
  return {
    durability: primary.durability,
    open: async (batch) => {
      const attempt = await availability.attempt(
        'keyed',
        () => primary.open(batch),
        ({ kind }) => kind === 'held',
      );
      if (attempt.kind === 'away') return { kind: 'unavailable' };
      const { answer } = attempt;
      return answer.kind === 'held' ? { kind: 'held', record: guard(answer.record) } : answer;
    },
    find: async (requestKey) => {
      if (!availability.isReachable()) return 'unavailable';
      const attempt = await attemptAlways('read', () => primary.find(requestKey));
      return attempt.kind === 'away' ? 'unavailable' : attempt.answer;
    },
  };
};
