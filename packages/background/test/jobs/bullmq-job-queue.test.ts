import { randomUUID } from 'node:crypto';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { BullmqJobQueueOptions } from '#src/jobs/bullmq-job-queue.ts';
import type { Job, JobQueue } from '#src/jobs/job-queue.ts';
import { describeJobQueue } from './describe-job-queue.ts';
import { recordJobs, SOON } from './job-recorder.ts';
import { openUntilReady } from './open-job-queue.ts';

let redis: RedisForTests | undefined;
const opened: JobQueue[] = [];
const errors: unknown[] = [];

beforeAll(async () => {
  redis = await redisForTests();
}, timeLimit(30_000));
afterAll(() => redis?.stop());

const open = async (options: Partial<BullmqJobQueueOptions> = {}): Promise<JobQueue> => {
  if (redis === undefined) throw new Error('Redis is there only while tests run.');
  const queue = await openUntilReady({ url: redis.url, onError: (error) => errors.push(error), ...options });
  opened.push(queue);
  return queue;
};

afterEach(() => {
  // Some tests leave jobs running, for which closing would wait.
  for (const queue of opened.splice(0)) void queue.close();
});

describeJobQueue('BullMQ', () => open());

test('a job that is offered again while a worker has it is another worker’s next, whatever BullMQ believes, and the first one cannot acknowledge it', async () => {
  const options = { keyPrefix: `recourse:${randomUUID()}`, onError: () => undefined };
  const [dead, living] = [await open(options), await open(options)];
  const [had, takes] = [recordJobs(), recordJobs()];
  const job = (call: string): Job => ({ call, tenant: 'a', lane: 'default' });
  const taking = dead.take([{ lane: 'default', concurrency: 1 }], had.run);
  await dead.offer(job('c_1'));
  await had.untilStarted(1);
  taking.stop();
  await living.offer(job('c_2'));
  await living.offer(job('c_1'));
  expect(await living.lanes()).toMatchObject([
    { lane: 'default', waiting: 1 },
    { lane: 'gpu', waiting: 0 },
  ]);
  for (const call of ['c_1', 'c_1', 'c_2']) await living.offerAgain(job(call));
  expect(await living.lanes()).toMatchObject([
    { lane: 'default', waiting: 2 },
    { lane: 'gpu', waiting: 0 },
  ]);
  living.take([{ lane: 'default', concurrency: 1 }], takes.run);
  await takes.untilStarted(1);
  expect(takes.started).toEqual(['c_1']);
  had.end('c_1');
  await dead.close();
  for (const call of ['c_1', 'c_2']) {
    takes.end(call);
    if (call === 'c_1') await takes.untilStarted(2);
  }
  await vi.waitFor(async () => expect(await living.lanes()).toMatchObject([{ waiting: 0 }, {}]), SOON);
  expect(takes.started).toEqual(['c_1', 'c_2']);
});

test('no test before has made an error', () => {
  expect(errors.map(String)).toEqual([]);
});
