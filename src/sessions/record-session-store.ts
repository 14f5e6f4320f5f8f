import type { BudgetMode } from '../contract/tool-result.ts';
import type {
  Admission,
  Budget,
  Permit,
  Round,
  RoundForecast,
  RoundReport,
  SessionSettings,
  SessionStore,
  ToolOutcome,
  UnpackRound,
} from '../executor/session-store.ts';
import { copyState, type RecordStore, type Records } from '../store/record-store.ts';
import { createLateRound, createTicket, readTicket } from './round-ticket.ts';
import { settleRepeats } from './rules/loop-guard.ts';
import { type AdmittedTool, readBudgets } from './rules/retry-budgets.ts';
import {
  admitRound,
  type CleanTools,
  createFreeTools,
  endedCleanly,
  findCleanTools,
  readRetriesLeft,
  settleRound,
} from './rules/rounds.ts';
import { resetSession, toSessionRecord } from './rules/session-record.ts';
import { createSessionState } from './rules/session-state.ts';
import { addLate, addRound, maxLinesOf, readJournal } from './session-journal.ts';
import { createSessionKind, type StoredSession } from './session-kind.ts';

type Options = {
  readonly mode: BudgetMode;
  readonly settings: SessionSettings;
  readonly unpackRound: UnpackRound;
  readonly store: RecordStore;
  /** Whether there is room for journals. Left out: always. */
  readonly mayKeepJournals?: () => boolean;
};

/** Sessions and the records that they are. */
export type RecordSessionStore = SessionStore & {
  readonly records: Records<StoredSession>;
  /** What would be said of a round of a session that stands so; null: of a new one. */
  readonly forecastFrom: (stored: StoredSession | null, round: Round) => RoundForecast;
};

/** Sessions as records of a store: each step is one decision. The embedded stores answer at once. */
export const createRecordSessionStore = (options: Options): RecordSessionStore => {
  const { mode, settings, unpackRound, store } = options;
  const kind = createSessionKind(settings.ttlMs);
  const sessions = store.open(kind);
  const parts: Parts = { mayKeepJournals: () => true, ...options, sessions };
  const forecastFrom = (stored: StoredSession | null, round: Round, now = store.now()): RoundForecast => {
    const copy = stored === null ? null : copyState(kind, stored);
    const admitted = admit(copy ?? kind.create(), round, settings, now);
    const { scope, step, permits, verdicts } = new SessionAdmission(round, admitted, parts);
    return { mode, scope, step, permits, verdicts };
  };
  return {
    records: sessions,
    admit: (round) => {
      const admitted = sessions.update(round.sessionKey, (stored, now) => admit(stored, round, settings, now));
      return admitted instanceof Promise
        ? admitted.then((answer) => new SessionAdmission(round, answer, parts))
        : new SessionAdmission(round, admitted, parts);
    },
    forecastFrom,
    forecast: async (round) => {
      const found = await sessions.read(round.sessionKey, (stored, now) => forecastFrom(stored, round, now));
      return found ?? forecastFrom(null, round);
    },
    resume: (late) => {
      const round = createLateRound(late);
      const { born, step, epoch, retry, claim } = readTicket(late.ticket);
      const permit = {
        decision: retry ? 'retry' : 'free',
        budget: findCleanTools(round, settings).budgets.get(late.tool.name) ?? null,
      } as const;
      const tool: AdmittedTool = { permit, reservationId: claim ?? late.batchId, epoch, late: true };
      const admitted = { born, step, verdicts: [], tools: new Map([[late.tool.name, tool]]) };
      return new SessionAdmission(round, admitted, parts);
    },
    read: async (sessionKey) => {
      const found = await sessions.read(sessionKey, ({ session, journal }, now) => ({
        record: toSessionRecord(session ?? createSessionState(''), now),
        journal: { ...journal, counts: [...journal.counts] },
      }));
      if (found === null) return { mode, ...toSessionRecord(createSessionState(''), 0), journal: [] };
      const elements = await sessions.list(sessionKey, found.journal.counts.length);
      const journal = readJournal(found.journal, elements, { maxLines: maxLinesOf(settings), unpackRound });
      return { mode, ...found.record, ...(found.journal.isTruncated ? { truncated: true } : {}), journal };
    },
    end: async (sessionKey) => sessions.delete(sessionKey),
    reset: async (sessionKey, tool) =>
      sessions.update(
        sessionKey,
        (stored, now) => {
          stored.bytes = 0;
          if (stored.session !== null) resetSession(stored.session, tool, now);
        },
        'long',
      ),
  };
};

/** A round as it was let in, and the life of its session. */
const admit = (stored: StoredSession, round: Round, settings: SessionSettings, now: number) => {
  stored.session ??= createSessionState(round.batchId);
  const { step, verdicts, tools } = admitRound(stored.session, round, settings, now);
  // A clean round weighs nothing.
  if (tools !== null) stored.bytes = 0;
  return { born: stored.session.born, step, verdicts, tools };
};

type Parts = Required<Options> & { readonly sessions: Records<StoredSession> };

class SessionAdmission implements Admission {
  readonly mode: BudgetMode;
  readonly scope = 'session';
  readonly step: number;
  readonly permits: Admission['permits'];
  readonly verdicts: Admission['verdicts'];
  readonly #round: Round;
  readonly #admitted: ReturnType<typeof admit>;
  readonly #clean: CleanTools;
  readonly #parts: Parts;

  constructor(round: Round, admitted: ReturnType<typeof admit>, parts: Parts) {
    this.mode = parts.mode;
    this.step = admitted.step;
    this.verdicts = admitted.verdicts;
    this.#round = round;
    this.#admitted = admitted;
    this.#clean = findCleanTools(round, parts.settings);
    this.#parts = parts;
    this.permits =
      admitted.tools === null
        ? this.#clean.permits
        : new Map(Array.from(admitted.tools, ([name, { permit }]) => [name, permit]));
  }

  settle(report: RoundReport): ReadonlyMap<string, Budget> | Promise<ReadonlyMap<string, Budget>> {
    const { sessions, settings, mayKeepJournals } = this.#parts;
    const most = settings.journal;
    const journal = most === 0 ? null : report.journal;
    const hasRoom = journal === null || journal.lines === 0 || mayKeepJournals();
    const settled = sessions.update(
      this.#round.sessionKey,
      (stored, now) => {
        const { session } = stored;
        const { tools } = this.#round;
        if (session?.born !== this.#admitted.born)
          return readBudgets(session ?? createSessionState(''), tools, settings, now);
        const { budgets, left } = this.#settleIn(stored, session, report, now);
        if (journal !== null && hasRoom) addRound(stored.journal, { journal, most, left }, maxLinesOf(settings));
        stored.journal.isTruncated ||= !hasRoom;
        return budgets;
      },
      'long',
    );
    return settled instanceof Promise ? settled.catch(() => estimateBudgets(this, report.outcomes)) : settled;
  }

  ticketOf(tool: string): string {
    return createTicket(this.#admitted, this.#admitted.tools?.get(tool));
  }

  async addLate(json: string): Promise<void> {
    const { sessions, settings, mayKeepJournals } = this.#parts;
    if (settings.journal === 0 || !mayKeepJournals()) return;
    const added = sessions.update(
      this.#round.sessionKey,
      ({ session, journal }) => {
        if (session?.born === this.#admitted.born) addLate(journal, json, maxLinesOf(settings));
      },
      'long',
    );
    await Promise.resolve(added).catch(() => undefined);
  }

  #settleIn(
    stored: StoredSession,
    session: NonNullable<StoredSession['session']>,
    report: RoundReport,
    now: number,
  ): Pick<CleanTools, 'budgets' | 'left'> {
    const round = this.#round;
    if (this.#admitted.tools === null && endedCleanly(session, report)) {
      // Of a round that ended cleanly only its repeats count.
      if (settleRepeats(session.repeats, round.tools, report.calls, 0)) stored.bytes = 0;
      return this.#clean;
    }
    stored.bytes = 0;
    const tools = this.#admitted.tools ?? createFreeTools(this.#clean);
    settleRound(session, round, { ...this.#admitted, tools }, report, now);
    const budgets = readBudgets(session, round.tools, this.#parts.settings, now);
    return { budgets, left: readRetriesLeft(round.tools, budgets) };
  }
}

// A time-out means "maybe applied", so it is never sent again. What the caller reads is then the likeliest: applied.
const estimateBudgets = ({ permits }: Admission, outcomes: readonly ToolOutcome[]): ReadonlyMap<string, Budget> => {
  const budgets = new Map<string, Budget>();
  for (const outcome of outcomes) {
    const permit = permits.get(outcome.name);
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
