import { describe } from 'vitest';
import { describeKeyedAnswers } from './keyed-answers-contract.ts';
import { describeKeyedLeases } from './keyed-leases-contract.ts';
import { describeKeyedRepeats } from './keyed-repeats-contract.ts';
import { describeKeyedSizes } from './keyed-sizes-contract.ts';
import type { CreateKeyedStoreUnderTest } from './keyed-stores-under-test.ts';

/** What every store of idempotency records promises. */
export const describeKeyedStore = (name: string, createStore: CreateKeyedStoreUnderTest): void => {
  describe(name, () => {
    describeKeyedRepeats(createStore);
    describeKeyedLeases(createStore);
    describeKeyedAnswers(createStore);
    describeKeyedSizes(createStore);
  });
};
