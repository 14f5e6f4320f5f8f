import type { CreateKeyedStoreUnderTest } from '@recourse/test-support/idempotency-stores-under-test.ts';
import { describe } from 'vitest';
import { describeKeyedAnswers } from './keyed-answers.ts';
import { describeKeyedLeases } from './keyed-leases.ts';
import { describeKeyedLooks } from './keyed-looks.ts';
import { describeKeyedRepeats } from './keyed-repeats.ts';
import { describeKeyedSizes } from './keyed-sizes.ts';

/** What every store of idempotency records promises. */
export const describeKeyedStore = (name: string, createStore: CreateKeyedStoreUnderTest): void => {
  describe(name, () => {
    describeKeyedRepeats(createStore);
    describeKeyedLeases(createStore);
    describeKeyedAnswers(createStore);
    describeKeyedSizes(createStore);
    describeKeyedLooks(createStore);
  });
};
