import {
  createMemoryKeyedUnderTest,
  createRedisKeyedUnderTest,
  createSqliteKeyedUnderTest,
} from '@recourse/test-support/idempotency-stores-under-test.ts';
import { createGuarded, toRedisClient, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { describeKeyedStore } from '#test/sessions/promises/describe-idempotency-store.ts';

const redis = useRedis();

describeKeyedStore('memory', createMemoryKeyedUnderTest);

describeKeyedStore('SQLite', (terms) => createSqliteKeyedUnderTest(terms));

describeKeyedStore('SQLite, read anew for each step', (terms) => createSqliteKeyedUnderTest(terms, 1));

describeKeyedStore('Redis', (terms) => createRedisKeyedUnderTest(toRedisClient(redis()), terms));

describeKeyedStore('Redis, as the service asks it', (terms) =>
  createRedisKeyedUnderTest(toRedisClient(redis()), terms, undefined, (store) => createGuarded(store).records),
);
