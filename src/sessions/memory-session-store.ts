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
import { toMaxLines } from './journal-lines.ts';
import { NO_TICKET, readTicket, toLateRound, toLateTools, toTicket } from './late-rounds.ts';
import { createMemoryJournals, type MemoryJournals } from './memory-journals.ts';
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
import { toBudget, toPermits } from './rules/retry-budgets.ts';
import { type AdmittedRound, admitRound, settleRound, toGuardStep, toSettlement } from './rules/rounds.ts';
import {
  createSessionState,
  expireClaims,
  findTool,
  resetSession,
  type SessionState,
  spentRetries,
  toEmptyRecord,
  toSessionBytes,
  toSessionRecord,
} from './rules/session-state.ts';

type MemorySessionStore = SessionStore & {
  /** Forgets every session: what was counted while another store was away must not outlive that. */
  readonly clear: () => void;
};

type Budgets = ReadonlyMap<string, Budget>;

const UNCHANGED: Budgets = new Map();

/** What an admission settles in. */
type SessionsInMemory = {
  readonly mode: BudgetMode;
  readonly settings: SessionSettings;
  readonly now: () => number;
  /** The session as it is now: another object once it has begun another life. */
  readonly find: (sessionKey: string) => SessionState | undefined;
  /** The session has changed, and weighs something else. */
  readonly keep: (sessionKey: string, session: SessionState) => void;
  readonly journals: MemoryJournals;
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
  const store: SessionsInMemory = { mode, settings, now, find: (key) => sessions.get(key), keep, journals };
  return {
    admit: (round) => {
      const before = sessions.get(round.sessionKey);
      const session = before ?? createSessionState(round.batchId);
      const clean = admitClean(session, round, settings);
      const admitted = clean ?? admitRound(session, round, settings, now());
      if (before === undefined || clean === null) keep(round.sessionKey, session);
      return new SessionAdmission(session, round, admitted, store);
    },
    resume: (late) => {
      const round = toLateRound(late);
      const ticket = readTicket(late.ticket);
      const before = sessions.get(round.sessionKey);
      const session = before?.born === ticket.born ? before : createSessionState('');
      const tools = toLateTools(round, ticket, settings);
      return new SessionAdmission(session, round, { step: ticket.step, verdicts: [], tools }, store);
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

/** A round that was let in; without `tools` it was admitted cleanly. */
type Admitted = CleanRound & Partial<Pick<AdmittedRound, 'tools'>>;

class SessionAdmission implements Admission {
  readonly mode: BudgetMode;
  readonly scope = 'session';
  readonly step: number;
  readonly permits: Admission['permits'];
  readonly verdicts: Admission['verdicts'];
  readonly #session: SessionState;
  readonly #round: Round;
  readonly #tools: AdmittedRound['tools'] | undefined;
  readonly #store: SessionsInMemory;

  constructor(session: SessionState, round: Round, { step, verdicts, tools }: Admitted, store: SessionsInMemory) {
    this.mode = store.mode;
    this.step = step;
    this.permits = tools === undefined ? toCleanPermits(round, store.settings) : toPermits(tools);
    this.verdicts = verdicts;
    this.#session = session;
    this.#round = round;
    this.#tools = tools;
    this.#store = store;
  }

  settle(report: RoundReport): Budgets {
    return this.#tools === undefined && this.#isCurrent() && endedCleanly(this.#session, report)
      ? this.#settleCleanly(report)
      : this.#settleAny(report);
  }

  ticketOf(tool: string): string {
    return toTicket({ born: this.#session.born, step: this.step }, this.#tools?.get(tool));
  }

  async addLate(json: string): Promise<void> {
    if (this.#isCurrent()) this.#store.journals.append(this.#round.sessionKey, [json]);
  }

  #isCurrent(): boolean {
    return this.#store.find(this.#round.sessionKey) === this.#session;
  }

  #settleCleanly(report: RoundReport): Budgets {
    const { settings, keep } = this.#store;
    const done = settleClean(this.#session, this.#round, report);
    if (done === 'nothing' && (report.journal === null || settings.journal === 0)) return UNCHANGED;
    const budgets = toCleanBudgets(this.#round, settings);
    if (done === 'other') keep(this.#round.sessionKey, this.#session);
    // Keeping it may have been too much for the store, which then forgot this session, and its journal with it.
    if (done !== 'other' || this.#isCurrent()) this.#appendRound(report, budgets);
    return budgets;
  }

  #settleAny(report: RoundReport): Budgets {
    const { settings, now, find, keep } = this.#store;
    const tools = this.#tools ?? toCleanTools(this.#round, settings);
    const settlement = toSettlement(this.#round, { tools, verdicts: this.verdicts }, report, settings);
    if (settlement === null) return UNCHANGED;
    const { sessionKey } = this.#round;
    const current = find(sessionKey);
    const guardStep = toGuardStep(this.#round, this.step);
    if (current === this.#session) settleRound(current, settlement, { tools, guardStep }, now());
    const budgets = readBudgets(current ?? createSessionState(''), this.#round, settings, now());
    if (current === this.#session) keep(sessionKey, current);
    if (this.#isCurrent()) this.#appendRound(report, budgets);
    return budgets;
  }

  #appendRound({ journal }: RoundReport, budgets: Budgets): void {
    const { settings, journals } = this.#store;
    if (journal === null || settings.journal === 0) return;
    const { sessionKey, tools } = this.#round;
    journals.appendRound(sessionKey, { journal, lines: Math.min(journal.lines, settings.journal), tools, budgets });
  }
}

/** What the tools of a round have left now. Drops reservations whose lease is over. */
export const readBudgets = (
  session: SessionState,
  { tools }: Round,
  { sessionRetries }: SessionSettings,
  now: number,
): Budgets => {
  expireClaims(session, now);
  const left = sessionRetries - spentRetries(session);
  return new Map(tools.map(({ name, retries }) => [name, toBudget(findTool(session, name), retries, left)]));
};

type RequestOptions = { readonly settings: SessionSettings; readonly now: () => number };

/** Budgets that hold for one request: what a batch without a session gets. Nothing is remembered after it. */
export const createRequestSessionStore = (options: RequestOptions): SessionStore => ({
  admit: (round) => new RequestAdmission(round, options),
  resume: (late) => new RequestAdmission(toLateRound(late), options),
  read: async () => toEmptyRecord('memory'),
  end: async () => undefined,
  reset: async () => undefined,
});

const NO_VERDICTS: Admission['verdicts'] = [];

class RequestAdmission implements Admission {
  readonly mode = 'memory';
  readonly scope = 'request';
  readonly step = 0;
  readonly permits: Admission['permits'];
  readonly verdicts = NO_VERDICTS;
  readonly #round: Round;
  readonly #options: RequestOptions;

  constructor(round: Round, options: RequestOptions) {
    this.permits = toCleanPermits(round, options.settings);
    this.#round = round;
    this.#options = options;
  }

  settle(report: RoundReport): Budgets {
    const { settings, now } = this.#options;
    // Where nothing failed the budgets are those of the permits, and nothing has to remember them.
    if (!report.outcomes.some(({ failed }) => failed)) return UNCHANGED;
    if (this.#round.roundId === null) return toBudgetsOfOnly(this.#round, report, settings);
    const session = createSessionState(this.#round.batchId);
    const { tools, verdicts } = admitRound(session, this.#round, settings, now());
    const settlement = toSettlement(this.#round, { tools, verdicts }, report, settings);
    if (settlement === null) return UNCHANGED;
    settleRound(session, settlement, { tools, guardStep: 0 }, now());
    return readBudgets(session, this.#round, settings, now());
  }

  ticketOf(): string {
    return NO_TICKET;
  }

  async addLate(): Promise<void> {}
}
