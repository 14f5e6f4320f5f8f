import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { JobQueue } from '#src/pending/job-queue.ts';
import { type RedisForTests, redisForTests } from '#test/support/redis-server.ts';
import { timeLimit } from '#test/support/time-limit.ts';
import { describeJobQueue } from './describe-job-queue.ts';
import { openUntilReady } from './open-job-queue.ts';

let redis: RedisForTests | undefined;
const opened: JobQueue[] = [];
const errors: unknown[] = [];

beforeAll(async () => {
  redis = await redisForTests();
}, timeLimit(30_000));
afterAll(() => redis?.stop());

const open = async (): Promise<JobQueue> => {
  if (redis === undefined) throw new Error('Redis is there only while tests run.');
  const queue = await openUntilReady({ url: redis.url, onError: (error) => errors.push(error) });
  opened.push(queue);
  return queue;
};

afterEach(() => {
  // Some tests leave jobs running, for which closing would wait.
  for (const queue of opened.splice(0)) void queue.close();
});

describeJobQueue('BullMQ', open);

test('it says that its jobs outlive the process', async () => {
  expect((await open()).durability).toBe('durable');
});

test('no test before has made an error', () => {
  expect(errors.map(String)).toEqual([]);
});
