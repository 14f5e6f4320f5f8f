import type { BudgetMode } from '../contract/tool-result.ts';
import type {
  Admission,
  Budget,
  CallVerdict,
  Round,
  RoundReport,
  SessionSettings,
  SessionStore,
  UnpackRound,
} from '../executor/session-store.ts';
import type { RecordStore, Records } from '../store/record-store.ts';
import { toMaxLines } from './journal-lines.ts';
import { readTicket, toLateRound, toLateTools, toTicket } from './late-rounds.ts';
import {
  admitClean,
  type CleanTools,
  endedCleanly,
  settleClean,
  toAdmittedTools,
  toCleanTools,
} from './rules/clean-round.ts';
import { type AdmittedTool, toPermits, toRetriesLeft } from './rules/retry-budgets.ts';
import { admitRound, readBudgets, type Settlement, settleRound, toGuardStep, toSettlement } from './rules/rounds.ts';
import { createSessionState, resetSession, toEmptyRecord, toSessionRecord } from './rules/session-state.ts';
import { addLate, addRound, readJournal } from './session-journal.ts';
import { createSessionKind, type StoredSession } from './session-kind.ts';

type Budgets = ReadonlyMap<string, Budget>;

const UNCHANGED: Budgets = new Map();

/** A round as it was let in. `tools` is null where it was clean. */
type Admitted = {
  readonly born: string;
  readonly step: number;
  readonly verdicts: readonly CallVerdict[];
  readonly tools: ReadonlyMap<string, AdmittedTool> | null;
};

type Options = {
  readonly mode: BudgetMode;
  readonly settings: SessionSettings;
  readonly sessions: Records<StoredSession>;
  readonly unpackRound: UnpackRound;
  /** Whether there is room for journals. */
  readonly mayKeepJournals: () => boolean;
};

/** Sessions and the records that they are. */
export type RecordSessionStore = SessionStore & { readonly records: Records<StoredSession> };

/** Sessions as records of a store: each step is one decision. The embedded stores answer at once. */
export const createRecordSessionStore = ({
  store,
  ...rest
}: Omit<Options, 'sessions' | 'mayKeepJournals'> & {
  readonly store: RecordStore;
  readonly mayKeepJournals?: () => boolean;
}): RecordSessionStore => {
  const { mode, settings, unpackRound, mayKeepJournals = () => true } = rest;
  const options: Options = { ...rest, mayKeepJournals, sessions: store.open(createSessionKind(settings.ttlMs)) };
  const { sessions } = options;
  const maxLines = toMaxLines(settings);
  return {
    records: sessions,
    admit: (round) => {
      const admitted = sessions.update(round.sessionKey, (stored, now) =>
        decideAdmission(stored, round, settings, now),
      );
      return admitted instanceof Promise
        ? admitted.then((known) => new SessionAdmission(round, known, options))
        : new SessionAdmission(round, admitted, options);
    },
    resume: (late) => {
      const round = toLateRound(late);
      const ticket = readTicket(late.ticket);
      const tools = toLateTools(round, ticket, settings);
      return new SessionAdmission(round, { born: ticket.born, step: ticket.step, verdicts: [], tools }, options);
    },
    read: async (sessionKey) => {
      const found = await sessions.read(sessionKey, ({ session, journal }, now) => ({
        record: toSessionRecord(session ?? createSessionState(''), now),
        journal: { ...journal, counts: [...journal.counts] },
      }));
      if (found === null) return toEmptyRecord(mode);
      const elements = await sessions.list(sessionKey, found.journal.counts.length);
      const journal = readJournal(found.journal, elements, { maxLines, unpackRound });
      return { mode, ...found.record, ...(found.journal.isTruncated ? { truncated: true } : {}), journal };
    },
    end: async (sessionKey) => sessions.delete(sessionKey),
    reset: async (sessionKey, tool) =>
      sessions.update(
        sessionKey,
        (stored, now) => {
          if (stored.session === null) return;
          stored.bytes = 0;
          resetSession(stored.session, tool, now);
        },
        'long',
      ),
  };
};

const decideAdmission = (stored: StoredSession, round: Round, settings: SessionSettings, now: number): Admitted => {
  stored.session ??= createSessionState(round.batchId);
  const { session } = stored;
  const clean = admitClean(session, round, settings);
  if (clean !== null) return { born: session.born, step: clean.step, verdicts: clean.verdicts, tools: null };
  stored.bytes = 0;
  return { born: session.born, ...admitRound(session, round, settings, now) };
};

class SessionAdmission implements Admission {
  readonly mode: BudgetMode;
  readonly scope = 'session';
  readonly step: number;
  readonly permits: Admission['permits'];
  readonly verdicts: Admission['verdicts'];
  readonly #round: Round;
  readonly #admitted: Admitted;
  /** null where it was not clean. */
  readonly #clean: CleanTools | null;
  readonly #options: Options;

  constructor(round: Round, admitted: Admitted, options: Options) {
    this.mode = options.mode;
    this.step = admitted.step;
    this.verdicts = admitted.verdicts;
    this.#round = round;
    this.#admitted = admitted;
    this.#clean = admitted.tools === null ? toCleanTools(round, options.settings) : null;
    this.#options = options;
    this.permits = this.#clean === null ? toPermits(this.#toTools()) : this.#clean.permits;
  }

  settle(report: RoundReport): Budgets | Promise<Budgets> {
    const { sessions, settings, mayKeepJournals } = this.#options;
    const most = settings.journal;
    // Of a clean round it is made only where another one, or a failure, was in its way.
    const settlement = this.#clean === null ? this.#toSettlement(report) : undefined;
    if (settlement === null) return UNCHANGED;
    const lines = most === 0 ? null : report.journal;
    const hasRoom = lines === null || lines.lines === 0 || mayKeepJournals();
    const kept = hasRoom ? lines : null;
    return sessions.update(
      this.#round.sessionKey,
      (stored, now) => {
        if (stored.session?.born !== this.#admitted.born) return this.#readBudgets(stored, now);
        const { budgets, left } = this.#settleIn(stored, report, settlement, now);
        if (kept !== null) addRound(stored.journal, { journal: kept, most, left }, toMaxLines(settings));
        stored.journal.isTruncated ||= !hasRoom;
        return budgets;
      },
      'long',
    );
  }

  ticketOf(tool: string): string {
    return toTicket(this.#admitted, this.#admitted.tools?.get(tool));
  }

  async addLate(json: string): Promise<void> {
    const { sessions, settings, mayKeepJournals } = this.#options;
    if (settings.journal === 0 || !mayKeepJournals()) return;
    await sessions.update(
      this.#round.sessionKey,
      ({ session, journal }) => {
        if (session?.born === this.#admitted.born) addLate(journal, json, toMaxLines(settings));
      },
      'long',
    );
  }

  #settleIn(
    stored: StoredSession,
    report: RoundReport,
    settlement: Settlement | null | undefined,
    now: number,
  ): Pick<CleanTools, 'budgets' | 'left'> {
    const { session } = stored;
    if (this.#clean !== null && session !== null && endedCleanly(session, report)) {
      if (settleClean(session, this.#round, report) === 'other') stored.bytes = 0;
      return this.#clean;
    }
    stored.bytes = 0;
    const due = settlement ?? this.#toSettlement(report);
    if (due !== null && session !== null)
      settleRound(session, due, { tools: this.#toTools(), guardStep: toGuardStep(this.#round, this.step) }, now);
    const budgets = this.#readBudgets(stored, now);
    return { budgets, left: toRetriesLeft(this.#round.tools, budgets) };
  }

  #readBudgets({ session }: StoredSession, now: number): Budgets {
    return readBudgets(session ?? createSessionState(''), this.#round, this.#options.settings, now);
  }

  #toSettlement(report: RoundReport): Settlement | null {
    const admitted = { tools: this.#toTools(), verdicts: this.verdicts };
    return toSettlement(this.#round, admitted, report, this.#options.settings);
  }

  #toTools(): ReadonlyMap<string, AdmittedTool> {
    return this.#admitted.tools ?? toAdmittedTools(this.#clean ?? toCleanTools(this.#round, this.#options.settings));
  }
}
