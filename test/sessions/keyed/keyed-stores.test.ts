import { describeKeyedStore } from '#test/sessions/promises/describe-keyed-store.ts';
import {
  createKeyedFallback,
  createMemoryKeyedUnderTest,
  createRedisKeyedUnderTest,
  createSqliteKeyedUnderTest,
} from '#test/support/keyed-stores-under-test.ts';
import { toRedisClient, useRedis } from '#test/support/session-stores-under-test.ts';

const redis = useRedis();

describeKeyedStore('memory', createMemoryKeyedUnderTest);

describeKeyedStore('SQLite', (terms) => createSqliteKeyedUnderTest(terms));

describeKeyedStore('SQLite, read anew for each step', (terms) => createSqliteKeyedUnderTest(terms, 1));

describeKeyedStore('Redis', (terms) => createRedisKeyedUnderTest(toRedisClient(redis()), terms));

describeKeyedStore('the fall-back over Redis', (terms) => {
  const subject = createRedisKeyedUnderTest(toRedisClient(redis()), terms);
  return { ...subject, store: createKeyedFallback(subject.store).store };
});
