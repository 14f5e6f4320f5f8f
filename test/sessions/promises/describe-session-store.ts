import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { describe } from 'vitest';
import { describeCallLimits } from './describe-call-limits.ts';
import { describeForecasts } from './describe-forecasts.ts';
import { describeLoopGuard } from './describe-loop-guard.ts';
import { describeLoopRounds } from './describe-loop-rounds.ts';
import { describeNamedRounds } from './describe-named-rounds.ts';
import { describeRetryLimits } from './describe-retry-limits.ts';
import { describeRetrySettling } from './describe-retry-settling.ts';
import { describeSessionJournal } from './describe-session-journal.ts';
import { describeSessionLife } from './describe-session-life.ts';
import { describeSessionRecords } from './describe-session-records.ts';
import { describeUnknownNames } from './describe-unknown-names.ts';

/** What every session store promises: the rules of budgets, loop guard, limits and journal, as tests that name them. */
export const describeSessionStore = (name: string, createStore: CreateStoreUnderTest): void => {
  describe(name, () => {
    describeRetryLimits(createStore);
    describeRetrySettling(createStore);
    describeNamedRounds(createStore);
    describeUnknownNames(createStore);
    describeSessionLife(createStore);
    describeLoopGuard(createStore);
    describeLoopRounds(createStore);
    describeCallLimits(createStore);
    describeSessionJournal(createStore);
    describeSessionRecords(createStore);
    describeForecasts(createStore);
  });
};
