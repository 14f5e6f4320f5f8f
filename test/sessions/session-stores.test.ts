import { createSqliteRecordsUnderTest } from '@recourse/test-support/record-stores-under-test.ts';
import {
  createFallback,
  createMemoryUnderTest,
  createRedisUnderTest,
  useRedis,
} from '@recourse/test-support/session-stores-under-test.ts';
import { describeSessionStore } from '#test/sessions/promises/describe-session-store.ts';

const redis = useRedis();

describeSessionStore('memory', createMemoryUnderTest);

describeSessionStore('SQLite', createSqliteRecordsUnderTest);

describeSessionStore('Redis', (settings) => createRedisUnderTest(redis(), settings));

describeSessionStore('the fall-back over Redis', (settings) => {
  const subject = createRedisUnderTest(redis(), settings);
  return { ...subject, store: createFallback(subject.records, settings).store };
});
