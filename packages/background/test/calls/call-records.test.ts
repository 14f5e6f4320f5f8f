import type { RedisSubscription } from '@recourse/store-redis/redis-client';
import {
  createMemoryCallsUnderTest,
  createRedisCallsUnderTest,
  createSqliteCallsUnderTest,
  subscribeTo,
} from '@recourse/test-support/call-records-under-test.ts';
import { connectToRedis, createGuarded, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { describeCallRecords } from './describe-call-records.ts';

const redis = useRedis();
let listening: Redis | undefined;

beforeAll(async () => {
  const { host = '', port = 0 } = redis().options;
  listening = await connectToRedis(`redis://${host}:${port}`);
});

afterAll(() => listening?.disconnect());

const subscription = async (): Promise<Pick<RedisSubscription, 'subscribe'>> => {
  if (listening === undefined) throw new Error('Redis is there only while tests run.');
  return subscribeTo(listening);
};

describeCallRecords('memory', createMemoryCallsUnderTest);

describeCallRecords('SQLite', createSqliteCallsUnderTest);

describeCallRecords('Redis', async (terms) => createRedisCallsUnderTest(redis(), await subscription(), terms));

describeCallRecords('Redis, as the service asks it', async (terms) =>
  createRedisCallsUnderTest(redis(), await subscription(), terms, (store) => createGuarded(store).records),
);
