import { LRUCache } from 'lru-cache';
import type { BudgetMode } from '../contract/tool-result.ts';
import type {
  Admission,
  Budget,
  BudgetSettings,
  Permit,
  Round,
  SessionStore,
  ToolOutcome,
} from '../executor/session-store.ts';
import { type AdmittedTool, admitRound, toBudget } from './admit-round.ts';
import { createSessionState, expireClaims, type SessionState, spentRetries, toolState } from './budget-state.ts';
import { isWorthSettling, settleRound } from './settle-round.ts';

export type MemorySessionStore = SessionStore & {
  /** Forgets every session: what was counted while another store was away must not outlive that. */
  readonly clear: () => void;
};

/**
 * Sessions in this process: the embedded default (`memory`), and what serves while Redis is away (`local`).
 * Holds at most `maxSessions`; the least recently used one is forgotten first.
 */
export const createMemorySessionStore = (options: {
  readonly mode: BudgetMode;
  readonly settings: BudgetSettings;
  readonly maxSessions: number;
  readonly now: () => number;
}): MemorySessionStore => {
  const { mode, settings, now } = options;
  const sessions = new LRUCache<string, SessionState>({
    max: options.maxSessions,
    ttl: settings.ttlMs,
    updateAgeOnGet: true,
    // At its default the cache looks at the clock once a millisecond of real time, whatever `now` says.
    ttlResolution: 0,
    perf: { now },
  });
  const bornOrKnown = (round: Round): SessionState => {
    const known = sessions.get(round.sessionKey);
    if (known !== undefined) return known;
    const born = createSessionState(round.batchId);
    sessions.set(round.sessionKey, born);
    return born;
  };
  return {
    admit: async (round) => {
      const session = bornOrKnown(round);
      const findCurrent = (): SessionState | undefined => sessions.get(round.sessionKey);
      return admitTo(session, round, { mode, scope: 'session', settings, now, findCurrent });
    },
    clear: () => sessions.clear(),
  };
};

/** Budgets that hold for one request: what a batch without a session gets. */
export const createRequestSessionStore = (options: {
  readonly settings: BudgetSettings;
  readonly now: () => number;
}): SessionStore => ({
  admit: async (round) => {
    const session = createSessionState(round.batchId);
    return admitTo(session, round, { ...options, mode: 'memory', scope: 'request', findCurrent: () => session });
  },
});

const UNCHANGED: ReadonlyMap<string, Budget> = new Map();

const admitTo = (
  session: SessionState,
  round: Round,
  terms: Pick<Admission, 'mode' | 'scope'> & {
    readonly settings: BudgetSettings;
    readonly now: () => number;
    /** The session as it is now: another object once it has begun another life. */
    readonly findCurrent: () => SessionState | undefined;
  },
): Admission => {
  const { mode, scope, settings, now } = terms;
  const admitted = isUntouched(session, round)
    ? admitFresh(round, settings)
    : admitRound(session, round, settings, now());
  const isWorth = (outcome: ToolOutcome): boolean => {
    const one = admitted.get(outcome.name);
    if (one === undefined || one.permit.decision === 'denied') return false;
    return isWorthSettling(outcome, one.claimId === null ? 'nothing' : 'a claim');
  };
  return {
    mode,
    scope,
    permits: toPermits(admitted),
    settle: async (outcomes) => {
      if (!outcomes.some(isWorth)) return UNCHANGED;
      // Into its own object: where the session has begun another life, that one is nobody's any more.
      settleRound(session, outcomes, admitted, now());
      return readBudgets(terms.findCurrent() ?? createSessionState(''), round, settings, now());
    },
  };
};

const toPermits = (admitted: ReadonlyMap<string, AdmittedTool>): ReadonlyMap<string, Permit> => {
  const permits = new Map<string, Permit>();
  for (const [name, { permit }] of admitted) permits.set(name, permit);
  return permits;
};

// Nothing has ever failed in the session and the round has no name to remember: every tool is free and nothing is
// written. That is all but every batch.
const isUntouched = (session: SessionState, round: Round): boolean =>
  session.tools.size === 0 && session.lost === 0 && round.roundId === null;

const FRESH_TOOL = { failures: 0, used: 0, epoch: 0, failedAt: 0, lastError: '', claims: [] };

const admitFresh = (round: Round, { sessionRetries }: BudgetSettings): ReadonlyMap<string, AdmittedTool> => {
  const admitted = new Map<string, AdmittedTool>();
  for (const { name, retries } of round.tools) {
    const budget = toBudget(FRESH_TOOL, retries, sessionRetries);
    admitted.set(name, { permit: { decision: 'free', budget }, claimId: null, epoch: 0 });
  }
  return admitted;
};

const readBudgets = (
  session: SessionState,
  round: Round,
  { sessionRetries }: BudgetSettings,
  now: number,
): ReadonlyMap<string, Budget> => {
  expireClaims(session, now);
  const left = sessionRetries - spentRetries(session);
  return new Map(round.tools.map(({ name, retries }) => [name, toBudget(toolState(session, name), retries, left)]));
};
