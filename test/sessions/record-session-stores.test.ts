import { describeSessionStore } from '#test/sessions/promises/describe-session-store.ts';
import {
  createMemoryRecordsUnderTest,
  createRedisRecordsUnderTest,
  createSqliteRecordsUnderTest,
} from '#test/support/record-stores-under-test.ts';
import { useRedis } from '#test/support/session-stores-under-test.ts';

const redis = useRedis();

describeSessionStore('records in memory', createMemoryRecordsUnderTest);

describeSessionStore('records in SQLite', createSqliteRecordsUnderTest);

describeSessionStore('records in Redis', (settings) => {
  const [subject] = createRedisRecordsUnderTest([redis()], settings);
  if (subject === undefined) throw new Error('There is no replica.');
  return subject;
});
