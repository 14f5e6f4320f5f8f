import { LRUCache } from 'lru-cache';
import type { BudgetMode } from '../contract/tool-result.ts';
import type { Admission, Budget, BudgetSettings, Round, SessionStore } from '../executor/session-store.ts';
import { admitRound, toBudget } from './admit-round.ts';
import { createSessionState, type SessionState } from './budget-state.ts';
import { settleRound } from './settle-round.ts';

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
      const isCurrent = (): boolean => sessions.get(round.sessionKey) === session;
      return admitTo(session, round, { mode, scope: 'session', settings, now, isCurrent });
    },
    clear: () => sessions.clear(),
  };
};

/** Budgets that hold for one request: what a batch without a session gets. */
export const createRequestSessionStore = (options: {
  readonly settings: BudgetSettings;
  readonly now: () => number;
}): SessionStore => ({
  admit: async (round) =>
    admitTo(createSessionState(round.batchId), round, {
      ...options,
      mode: 'memory',
      scope: 'request',
      isCurrent: () => true,
    }),
});

const admitTo = (
  session: SessionState,
  round: Round,
  terms: Pick<Admission, 'mode' | 'scope'> & {
    readonly settings: BudgetSettings;
    readonly now: () => number;
    /** False once the session has begun another life: a settle must not write into that. */
    readonly isCurrent: () => boolean;
  },
): Admission => {
  const { mode, scope, settings, now } = terms;
  const admitted = admitRound(session, round, settings, now());
  const budgets = (): ReadonlyMap<string, Budget> =>
    new Map(round.tools.map((tool) => [tool.name, toBudget(session, tool, settings)]));
  return {
    mode,
    scope,
    permits: new Map([...admitted].map(([name, { permit }]) => [name, permit])),
    settle: async (outcomes) => {
      if (terms.isCurrent()) settleRound(session, outcomes, admitted, now());
      return budgets();
    },
  };
};
