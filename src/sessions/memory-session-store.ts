import type { BudgetMode } from '../contract/tool-result.ts';
import type { Admission, Budget, Round, SessionSettings, SessionStore } from '../executor/session-store.ts';
import { tenantOfKey } from '../memory/bounded-store.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import { createMemoryJournals, type MemoryJournals } from './memory-journals.ts';
import { toBudget, toPermits } from './rules/admit-budgets.ts';
import { admitRound, toGuardStep } from './rules/admit-round.ts';
import { expireClaims, findTool, spentRetries } from './rules/budget-state.ts';
import { toJournalText, toLines, toMaxLines } from './rules/journal-text.ts';
import { printOf } from './rules/loop-guard.ts';
import { resetSession } from './rules/reset-session.ts';
import { toSessionBytes } from './rules/session-bytes.ts';
import { toEmptyRecord, toSessionRecord } from './rules/session-record.ts';
import { createSessionState, type SessionState } from './rules/session-state.ts';
import { settleRound } from './rules/settle-round.ts';
import { toSettlement } from './rules/settlement.ts';

export type MemorySessionStore = SessionStore & {
  /** Forgets every session: what was counted while another store was away must not outlive that. */
  readonly clear: () => void;
};

/**
 * Sessions in this process: the embedded default (`memory`), and what serves while Redis is away (`local`). In the stores
 * `sessions` and `journals`: of the tenant that holds most the least recently used session is forgotten first.
 */
export const createMemorySessionStore = (options: {
  readonly mode: BudgetMode;
  readonly settings: SessionSettings;
  readonly memory: StoreMemory;
  readonly now: () => number;
}): MemorySessionStore => {
  const { mode, settings, memory, now } = options;
  const journals = createMemoryJournals(toMaxLines(settings), { memory, now });
  const sessions = memory.open<SessionState>('sessions', {
    tenantOf: tenantOfKey,
    ttl: { ms: settings.ttlMs, renewed: 'by_get' },
    now,
    onGone: journals.drop,
  });
  const keep = (sessionKey: string, session: SessionState): void => {
    if (sessions.get(sessionKey) === session) sessions.weigh(sessionKey, toSessionBytes(session));
    else sessions.set(sessionKey, session, toSessionBytes(session));
  };
  return {
    admit: (round) => {
      const { sessionKey } = round;
      const session = sessions.get(sessionKey) ?? createSessionState(round.batchId);
      const findCurrent = (): SessionState | undefined => sessions.get(sessionKey);
      const changed = (): void => keep(sessionKey, session);
      const terms = { mode, scope: 'session', settings, now, findCurrent, changed, journals } as const;
      const admission = admitTo(session, round, terms);
      changed();
      return admission;
    },
    read: async (sessionKey) => {
      const session = sessions.peek(sessionKey);
      if (session === undefined) return toEmptyRecord(mode);
      return { mode, ...toSessionRecord(session, now()), journal: journals.read(sessionKey) };
    },
    end: async (sessionKey) => void sessions.delete(sessionKey),
    reset: async (sessionKey, tool) => {
      const session = sessions.get(sessionKey);
      if (session !== undefined) resetSession(session, tool, now());
    },
    clear: () => sessions.clear(),
  };
};

const NO_JOURNALS: MemoryJournals = { append: () => undefined, read: () => [], drop: () => undefined };
const nothing = async (): Promise<void> => undefined;

/** Budgets that hold for one request: what a batch without a session gets. Nothing is remembered after it. */
export const createRequestSessionStore = (options: {
  readonly settings: SessionSettings;
  readonly now: () => number;
}): SessionStore => ({
  admit: (round) => {
    const session = createSessionState(round.batchId);
    const findCurrent = (): SessionState => session;
    const terms = {
      ...options,
      mode: 'memory',
      scope: 'request',
      findCurrent,
      changed: () => undefined,
      journals: NO_JOURNALS,
    } as const;
    return { ...admitTo(session, round, terms), step: 0 };
  },
  read: async () => toEmptyRecord('memory'),
  end: nothing,
  reset: nothing,
});

type Terms = Pick<Admission, 'mode' | 'scope'> & {
  readonly settings: SessionSettings;
  readonly now: () => number;
  /** The session as it is now: another object once it has begun another life. */
  readonly findCurrent: () => SessionState | undefined;
  /** The session has changed, and weighs something else. */
  readonly changed: () => void;
  readonly journals: MemoryJournals;
};

const UNCHANGED: ReadonlyMap<string, Budget> = new Map();

const admitTo = (session: SessionState, round: Round, terms: Terms): Admission => {
  const { mode, scope, settings, now, findCurrent, changed, journals } = terms;
  const { step, tools, verdicts } = admitRound(session, round, settings, now());
  const guardStep = toGuardStep(round, step);
  return {
    mode,
    scope,
    step,
    permits: toPermits(tools),
    verdicts,
    settle: (report) => {
      const settlement = toSettlement(round, { tools, verdicts }, report, { settings, read: printOf });
      if (settlement === null) return UNCHANGED;
      const current = findCurrent();
      if (current === session) settleRound(session, settlement, { tools, guardStep }, now());
      const budgets = readBudgets(current ?? createSessionState(''), round, settings, now());
      const lines = toLines(settlement.journal, settings).map((line) => toJournalText(line, budgets));
      if (current === session) changed();
      if (findCurrent() === session) journals.append(round.sessionKey, lines);
      return budgets;
    },
    addLate: async (json) => {
      if (findCurrent() === session) journals.append(round.sessionKey, [json]);
    },
  };
};

const readBudgets = (
  session: SessionState,
  round: Round,
  { sessionRetries }: SessionSettings,
  now: number,
): ReadonlyMap<string, Budget> => {
  expireClaims(session, now);
  const left = sessionRetries - spentRetries(session);
  return new Map(round.tools.map(({ name, retries }) => [name, toBudget(findTool(session, name), retries, left)]));
};
