import { describe } from 'vitest';
import { describeNamedRounds } from './describe-named-rounds.ts';
import { describeRetryLimits } from './describe-retry-limits.ts';
import { describeRetrySettling } from './describe-retry-settling.ts';
import { describeSessionLife } from './describe-session-life.ts';
import { describeUnknownNames } from './describe-unknown-names.ts';
import type { CreateStoreUnderTest } from './session-stores-under-test.ts';

/** What every session store promises: the rules of the retry budget, each as tests that name it. */
export const describeSessionStore = (name: string, createStore: CreateStoreUnderTest): void => {
  describe(name, () => {
    describeRetryLimits(createStore);
    describeRetrySettling(createStore);
    describeNamedRounds(createStore);
    describeUnknownNames(createStore);
    describeSessionLife(createStore);
  });
};
