import { randomUUID } from 'node:crypto';
import { type RedisCluster, startRedisCluster } from '@recourse/test-support/redis-cluster.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { JobQueue } from '#src/jobs/job-queue.ts';
import { describeJobQueue } from './describe-job-queue.ts';
import { recordJobs } from './job-recorder.ts';
import { openUntilReady } from './open-job-queue.ts';

let cluster: RedisCluster | undefined;
const opened: JobQueue[] = [];

beforeAll(async () => {
  cluster = await startRedisCluster();
}, timeLimit(60_000));
afterEach(() => {
  for (const queue of opened.splice(0)) void queue.close();
});
afterAll(() => cluster?.stop());

const openShards = async (shards: number, keyPrefix = `recourse:${randomUUID()}`): Promise<JobQueue> => {
  if (cluster === undefined) throw new Error('The cluster is there only while tests run.');
  const lanes = ['default', 'gpu'].map((lane) => ({ lane, shards }));
  const queue = await openUntilReady({ url: cluster.urls, onError: () => undefined, lanes, keyPrefix });
  opened.push(queue);
  return queue;
};

describeJobQueue('BullMQ on a cluster of three nodes', () => openShards(1));

test('a lane of three shards runs each of its jobs once, at most its concurrency at once', async () => {
  const keyPrefix = `recourse:${randomUUID()}`;
  const [producer, worker] = [await openShards(3, keyPrefix), await openShards(3, keyPrefix)];
  const jobs = recordJobs('pass');
  const calls = Array.from({ length: 60 }, (_, position) => `c_${position}`);
  for (const call of calls) {
    await producer.offer({ call, tenant: 'a', lane: 'default' });
    await producer.offer({ call, tenant: 'a', lane: 'default' });
  }
  expect(await producer.lanes()).toMatchObject([
    { lane: 'default', waiting: 60 },
    { lane: 'gpu', waiting: 0, oldestWaitingMs: 0 },
  ]);
  worker.take([{ lane: 'default', concurrency: 3 }], jobs.run);
  await jobs.untilStarted(60);
  await jobs.whenIdle();
  expect(jobs.started.toSorted()).toEqual(calls.toSorted());
  expect(jobs.most('default')).toBeLessThanOrEqual(3);
});

test('the shards of a lane are at several nodes', async () => {
  if (cluster === undefined) throw new Error('The cluster is there only while tests run.');
  const shards = Array.from({ length: 12 }, (_, shard) => `recourse2:{jobs:default:${shard}}:jobs:wait`);
  const owners = await Promise.all(shards.map((key) => cluster?.ownerOf(key)));
  expect(new Set(owners.map((owner) => owner?.id)).size).toBe(3);
});
