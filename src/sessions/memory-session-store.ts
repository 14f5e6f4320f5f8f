import type { BudgetMode } from '../contract/tool-result.ts';
import type {
  Admission,
  Budget,
  Round,
  RoundReport,
  SessionSettings,
  SessionStore,
} from '../executor/session-store.ts';
import { tenantOfKey } from '../memory/bounded-store.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import { createMemoryJournals, type MemoryJournals } from './memory-journals.ts';
import { toBudget, toPermits } from './rules/admit-budgets.ts';
import { type AdmittedRound, admitRound, toGuardStep } from './rules/admit-round.ts';
import { expireClaims, findTool, spentRetries } from './rules/budget-state.ts';
import {
  admitClean,
  type CleanRound,
  endedCleanly,
  settleClean,
  toBudgetsOfOnly,
  toCleanBudgets,
  toCleanPermits,
  toCleanTools,
} from './rules/clean-round.ts';
import { toMaxLines } from './rules/journal-text.ts';
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
  const terms: Terms = { mode, scope: 'session', settings, now, find: (key) => sessions.get(key), keep, journals };
  return {
    admit: (round) => {
      const known = sessions.get(round.sessionKey);
      const session = known ?? createSessionState(round.batchId);
      const clean = admitClean(session, round, settings);
      const admitted = clean ?? admitRound(session, round, settings, now());
      if (known === undefined || clean === null) keep(round.sessionKey, session);
      return toAdmission(session, round, admitted, terms);
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

const nothing = async (): Promise<void> => undefined;

/** Budgets that hold for one request: what a batch without a session gets. Nothing is remembered after it. */
export const createRequestSessionStore = (options: {
  readonly settings: SessionSettings;
  readonly now: () => number;
}): SessionStore => ({
  admit: (round) => new RequestAdmission(round, options),
  read: async () => toEmptyRecord('memory'),
  end: nothing,
  reset: nothing,
});

class RequestAdmission implements Admission {
  readonly mode = 'memory';
  readonly scope = 'request';
  readonly step = 0;
  readonly permits: Admission['permits'];
  readonly verdicts: Admission['verdicts'] = NO_VERDICTS;
  readonly #round: Round;
  readonly #terms: Pick<Terms, 'settings' | 'now'>;

  constructor(round: Round, terms: Pick<Terms, 'settings' | 'now'>) {
    this.permits = toCleanPermits(round, terms.settings);
    this.#round = round;
    this.#terms = terms;
  }

  // Where nothing failed the budgets are those of the permits, and nothing has to remember them.
  settle(report: RoundReport): ReadonlyMap<string, Budget> {
    if (!hasFailed(report)) return UNCHANGED;
    return this.#round.roundId === null
      ? toBudgetsOfOnly(this.#round, report, this.#terms.settings)
      : settleRequest(this.#round, report, this.#terms);
  }

  addLate(): Promise<void> {
    return nothing();
  }
}

const NO_VERDICTS: Admission['verdicts'] = [];

const hasFailed = ({ outcomes }: RoundReport): boolean => outcomes.some(({ failed }) => failed);

const settleRequest = (
  round: Round,
  report: RoundReport,
  { settings, now }: Pick<Terms, 'settings' | 'now'>,
): ReadonlyMap<string, Budget> => {
  const session = createSessionState(round.batchId);
  const { tools, verdicts } = admitRound(session, round, settings, now());
  const settlement = toSettlement(round, { tools, verdicts }, report, settings);
  if (settlement === null) return UNCHANGED;
  settleRound(session, settlement, { tools, guardStep: 0 }, now());
  return readBudgets(session, round, settings, now());
};

type Terms = Pick<Admission, 'mode' | 'scope'> & {
  readonly settings: SessionSettings;
  readonly now: () => number;
  /** The session as it is now: another object once it has begun another life. */
  readonly find: (sessionKey: string) => SessionState | undefined;
  /** The session has changed, and weighs something else. */
  readonly keep: (sessionKey: string, session: SessionState) => void;
  readonly journals: MemoryJournals;
};

const UNCHANGED: ReadonlyMap<string, Budget> = new Map();

/** A round that was let in; without `tools` it was admitted cleanly. */
type Admitted = CleanRound & Partial<Pick<AdmittedRound, 'tools'>>;

const toAdmission = (session: SessionState, round: Round, admitted: Admitted, terms: Terms): Admission => {
  const { settings, find, journals } = terms;
  const { step, verdicts, tools } = admitted;
  return {
    mode: terms.mode,
    scope: terms.scope,
    step,
    permits: tools === undefined ? toCleanPermits(round, settings) : toPermits(tools),
    verdicts,
    settle: (report) =>
      tools === undefined && find(round.sessionKey) === session && endedCleanly(session, report)
        ? settleCleanRound(session, round, report, terms)
        : settleAny(session, round, { step, verdicts, tools: tools ?? toCleanTools(round, settings) }, report, terms),
    addLate: async (json) => {
      if (find(round.sessionKey) === session) journals.append(round.sessionKey, [json]);
    },
  };
};

const settleCleanRound = (
  session: SessionState,
  round: Round,
  report: RoundReport,
  terms: Terms,
): ReadonlyMap<string, Budget> => {
  const { settings, keep, find } = terms;
  const done = settleClean(session, round, report);
  if (done === 'nothing' && (report.journal === null || settings.journal === 0)) return UNCHANGED;
  const budgets = toCleanBudgets(round, settings);
  if (done === 'other') keep(round.sessionKey, session);
  // Keeping it may have been too much for the store, which then forgot this session, and its journal with it.
  if (done !== 'other' || find(round.sessionKey) === session) appendRound(round, report, budgets, terms);
  return budgets;
};

const settleAny = (
  session: SessionState,
  round: Round,
  admitted: AdmittedRound,
  report: RoundReport,
  terms: Terms,
): ReadonlyMap<string, Budget> => {
  const { settings, now, find, keep } = terms;
  const settlement = toSettlement(round, admitted, report, settings);
  if (settlement === null) return UNCHANGED;
  const { sessionKey } = round;
  const current = find(sessionKey);
  const guardStep = toGuardStep(round, admitted.step);
  if (current === session) settleRound(session, settlement, { tools: admitted.tools, guardStep }, now());
  const budgets = readBudgets(current ?? createSessionState(''), round, settings, now());
  if (current === session) keep(sessionKey, session);
  if (find(sessionKey) === session) appendRound(round, report, budgets, terms);
  return budgets;
};

const appendRound = (
  { sessionKey, tools }: Round,
  { journal }: RoundReport,
  budgets: ReadonlyMap<string, Budget>,
  { settings, journals }: Terms,
): void => {
  if (journal === null || settings.journal === 0) return;
  const lines = Math.min(journal.lines, settings.journal);
  journals.appendRound(sessionKey, { journal, lines, tools, budgets });
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
