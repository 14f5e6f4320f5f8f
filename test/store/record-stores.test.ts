import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import { SqliteRecordStore } from '@recourse/store-sqlite/sqlite-record-store';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { createManualClock, toRedisClient, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import { describeRecordStore } from './describe-record-store.ts';

const redis = useRedis();

describeRecordStore('in memory', async () => {
  const clock = createManualClock();
  const store = createMemoryRecordStore({ memory: roomyMemory(), now: clock.now });
  return { store, expire: async () => clock.advance(60_001) };
});

describeRecordStore('in Redis', async () => {
  const timeouts = { short: timeLimit(5000), long: timeLimit(10_000) };
  const store = createRedisRecordStore({ client: toRedisClient(redis()), cacheBytes: 1_000_000, timeouts });
  return {
    store,
    expire: async (key) => {
      const keys = await redis().keys(`recourse2:{${key}}:*`);
      await Promise.all(keys.map((one) => redis().pexpire(one, 0)));
    },
  };
});

describeRecordStore('in SQLite', async () => {
  const clock = createManualClock();
  const onFailed = (error: unknown): void => {
    throw error;
  };
  const options = { path: ':memory:', durable: 'process', cacheBytes: 1_000_000, now: clock.now, onFailed } as const;
  return { store: new SqliteRecordStore(options), expire: async () => clock.advance(60_001) };
});
