import { randomUUID } from 'node:crypto';
import type {
  Admission,
  Budget,
  RequestedCall,
  Round,
  RoundForecast,
  SessionSettings,
  ToolOutcome,
} from '#src/executor/session-store.ts';
import type { StoreUnderTest } from './session-stores-under-test.ts';

/** How a round went for a tool: Failed, Succeeded, Mixed, Terminal (neither), Interrupted. */
export type Mark = 'F' | 'S' | 'M' | 'T' | 'I';

/** `free`, `retry`, or why not: `tool`, `session`, `running`. */
export type Decision = 'free' | 'retry' | 'idle' | 'tool' | 'session' | 'running' | 'unavailable';

export type OpenRound = {
  readonly admission: Admission;
  /** In the order of the batch. */
  readonly decisions: readonly Decision[];
  /** What is left of a tool after admission. */
  readonly budgetOf: (tool: string) => Budget;
  /** Settles; gives what is left of a tool after that. */
  readonly end: (marks: Readonly<Record<string, Mark>>, error?: string) => Promise<(tool: string) => Budget>;
};

export type RoundTerms = { readonly round?: string; readonly leaseMs?: number };

/** A session of a store, and the rounds a test plays in it. */
export type BudgetSession = {
  readonly key: string;
  /** What would be said of the round, which does not begin. */
  readonly forecast: (tools: readonly string[]) => Promise<RoundForecast>;
  readonly begin: (tools: readonly string[], terms?: RoundTerms) => Promise<OpenRound>;
  /** A whole round. A tool that is refused is not run, whatever its mark. */
  readonly run: (
    marks: Readonly<Record<string, Mark>>,
    terms?: RoundTerms & { readonly error?: string },
  ) => Promise<{ readonly decisions: readonly Decision[]; readonly budgetOf: (tool: string) => Budget }>;
  readonly age: (ms: number) => Promise<void>;
  readonly forget: () => Promise<void>;
};

/** Settings that limit nothing but retries. */
export const ROOMY: SessionSettings = {
  sessionRetries: 20,
  cooldownMs: 0,
  ttlMs: 600_000,
  maxCalls: 0,
  maxRounds: 0,
  journal: 0,
};
const LEASE_MS = 60_000;
const UNKNOWN_RETRIES = 3;

// The Redis may be one that others use, too.
const run = randomUUID();
let sessions = 0;
let batches = 0;

/** How a permit reads in a test. */
export const toDecision = (permit: ReturnType<Admission['permits']['get']>): Decision => {
  if (permit === undefined) throw new Error('The tool was not admitted.');
  return permit.decision === 'denied' ? permit.denial : permit.decision;
};

const toOutcome = (name: string, mark: Mark, error: string): ToolOutcome => ({
  name,
  failed: mark === 'F' || mark === 'M',
  succeeded: mark === 'S' || mark === 'M',
  interrupted: mark === 'I',
  error: mark === 'F' || mark === 'M' ? error : '',
});

// One call of each tool, at which the loop guard does not look.
const toCall = (tool: string): RequestedCall => ({ tool, counts: true, callHash: null });

const found = (budget: Budget | null | undefined): Budget => {
  if (budget === null || budget === undefined) throw new Error('Nothing was counted.');
  return budget;
};

const toOpenRound = (admission: Admission, tools: readonly string[]): OpenRound => {
  const admitted = (tool: string): Budget => {
    const permit = admission.permits.get(tool);
    return found(permit === undefined || permit.decision === 'unavailable' ? null : permit.budget);
  };
  return {
    admission,
    decisions: tools.map((name) => toDecision(admission.permits.get(name))),
    budgetOf: admitted,
    end: async (marks, error = 'it failed') => {
      const outcomes = Object.entries(marks).map(([name, mark]) => toOutcome(name, mark, error));
      const calls = tools.map(
        (tool) => ({ ...toCall(tool), callEnd: 'not_run', resultHash: null, executed: true }) as const,
      );
      const budgets = await admission.settle({ outcomes, calls, journal: null });
      return (tool) => budgets.get(tool) ?? admitted(tool);
    },
  };
};

/** A new session. Tools it knows have the retries given here, names of one letter and all others two. */
export const createBudgetSession = (
  { store, age, forget }: Pick<StoreUnderTest, 'store' | 'age' | 'forget'>,
  retries: Readonly<Record<string, number>> = {},
  sharedKey?: string,
): BudgetSession => {
  sessions += 1;
  const key = sharedKey ?? `tenant:${run}${sessions}`;
  const toRound = (names: readonly string[], terms: RoundTerms = {}): Round => {
    batches += 1;
    return {
      sessionKey: key,
      batchId: `batch_${batches}`,
      roundId: terms.round ?? null,
      leaseMs: terms.leaseMs ?? LEASE_MS,
      tools: names.map((name) => ({
        name,
        retries: retries[name] ?? (name === '_unknown' ? UNKNOWN_RETRIES : 2),
        maxCalls: null,
        effects: 'read',
        polling: false,
      })),
      calls: names.map(toCall),
    };
  };
  const begin = async (names: readonly string[], terms?: RoundTerms): Promise<OpenRound> => {
    const admission = await store.admit(toRound(names, terms));
    return toOpenRound(admission, names);
  };
  return {
    key,
    begin,
    forecast: (names) => store.forecast(toRound(names)),
    run: async (marks, { error, ...terms } = {}) => {
      const round = await begin(Object.keys(marks), terms);
      const isLetIn = ([, position]: readonly [string, number]): boolean =>
        ['free', 'retry'].includes(round.decisions[position] ?? '');
      const ran = new Set(
        Object.keys(marks)
          .map((name, position) => [name, position] as const)
          .filter(isLetIn)
          .map(([name]) => name),
      );
      const real = Object.entries(marks).map(([name, mark]) => [name, ran.has(name) ? mark : 'T'] as const);
      const budgetOf = await round.end(Object.fromEntries(real), error);
      return { decisions: round.decisions, budgetOf };
    },
    age: (ms) => age(key, ms),
    forget: () => forget(key),
  };
};
