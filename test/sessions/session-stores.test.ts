import type { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { describeSessionStore } from '#test/support/describe-session-store.ts';
import { type RedisForTests, redisForTests } from '#test/support/redis-server.ts';
import {
  connectToRedis,
  createFallback,
  createMemoryUnderTest,
  createRedisUnderTest,
} from '#test/support/session-stores-under-test.ts';

let server: RedisForTests;
let redis: Redis;

beforeAll(async () => {
  server = await redisForTests();
  redis = await connectToRedis(server.url);
});

afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

describeSessionStore('memory', createMemoryUnderTest);

describeSessionStore('Redis', (settings) => createRedisUnderTest(redis, settings));

describeSessionStore('the fall-back over Redis', (settings) => {
  const subject = createRedisUnderTest(redis, settings);
  return { ...subject, store: createFallback(subject.store, settings).store };
});
