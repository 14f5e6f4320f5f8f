import type { Accounts } from './accounts.ts';
import type { BudgetSession } from './budget-sessions.ts';
import type { KeyRecord } from './keyed-attempt.ts';
import type { Options } from './options.ts';
import type { Surroundings } from './surroundings.ts';

/** What every part of a run needs. */
export type Run = {
  readonly options: Options;
  readonly surroundings: Surroundings;
  readonly accounts: Accounts;
  readonly say: (line: string) => void;
};

/** What is looked at once more when all is whole again. */
export type SentLoad = {
  readonly records: readonly KeyRecord[];
  readonly budgets: readonly BudgetSession[];
  readonly sessionIds: readonly string[];
};
