import type {
  Admission,
  Budget,
  Round,
  RoundReport,
  SessionSettings,
  SessionStore,
} from '../executor/session-store.ts';
import { createLateRound, NO_TICKET } from './round-ticket.ts';
import { cutError, toBudget } from './rules/retry-budgets.ts';
import { findCleanTools } from './rules/rounds.ts';
import { createSessionState, findTool } from './rules/session-state.ts';

/** Budgets that hold for one request: what a batch without a session gets. Nothing is remembered after it. */
export const createRequestSessionStore = ({
  settings,
}: {
  readonly settings: Pick<SessionSettings, 'sessionRetries'>;
}): SessionStore => ({
  admit: (round) => new RequestAdmission(round, settings),
  forecast: async (round) => new RequestAdmission(round, settings),
  resume: (late) => new RequestAdmission(createLateRound(late), settings),
  read: async () => ({ mode: 'memory', rounds: 0, calls: 0, spent: 0, tools: [], journal: [] }),
  end: async () => undefined,
  reset: async () => undefined,
});

const NO_VERDICTS: Admission['verdicts'] = [];
const UNCHANGED: ReadonlyMap<string, Budget> = new Map();

class RequestAdmission implements Admission {
  readonly mode = 'memory';
  readonly scope = 'request';
  readonly step = 0;
  readonly permits: Admission['permits'];
  readonly verdicts = NO_VERDICTS;
  readonly #round: Round;
  readonly #sessionRetries: number;

  constructor(round: Round, settings: Pick<SessionSettings, 'sessionRetries'>) {
    this.permits = findCleanTools(round, settings).permits;
    this.#round = round;
    this.#sessionRetries = settings.sessionRetries;
  }

  /** It is the only round: what failed and did not succeed as well has failed once. Where nothing failed the budgets are those of the permits. */
  settle({ outcomes }: RoundReport): ReadonlyMap<string, Budget> {
    if (!outcomes.some(({ failed }) => failed)) return UNCHANGED;
    const budgets = new Map<string, Budget>();
    for (const { name, retries } of this.#round.tools) {
      const outcome = outcomes.find((one) => one.name === name);
      const hasFailed = outcome?.failed === true && !outcome.succeeded;
      const tool = hasFailed ? { ...CLEAN, failures: 1, lastError: cutError(outcome.error) } : CLEAN;
      budgets.set(name, toBudget(tool, retries, this.#sessionRetries));
    }
    return budgets;
  }

  ticketOf(): string {
    return NO_TICKET;
  }

  async addLate(): Promise<void> {}
}

const CLEAN = findTool(createSessionState(''), '');
