import type {
  Admission,
  Budget,
  Round,
  RoundReport,
  SessionSettings,
  SessionStore,
} from '../executor/session-store.ts';
import { NO_TICKET, toLateRound } from './late-rounds.ts';
import { toBudgetsOfOnly, toCleanTools } from './rules/clean-round.ts';
import { admitRound, readBudgets, settleRound, toSettlement } from './rules/rounds.ts';
import { createSessionState, toEmptyRecord } from './rules/session-state.ts';

type Budgets = ReadonlyMap<string, Budget>;

const UNCHANGED: Budgets = new Map();

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
    this.permits = toCleanTools(round, options.settings).permits;
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
