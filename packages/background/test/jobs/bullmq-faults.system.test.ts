import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { LONG_TIMEOUT_MS } from '@recourse/store-redis/command-timeout';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { type RedisServer, startRedisServer } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { watchOver } from '@recourse/test-support/watch-over.ts';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createBullmqJobQueue } from '#src/jobs/bullmq-job-queue.ts';
import type { Job, JobQueue } from '#src/jobs/job-queue.ts';
import { recordJobs, SOON } from './job-recorder.ts';
import { openUntilReady } from './open-job-queue.ts';

const STALL_MS = 1000;
// What it says is offered again within two stalls; a busy machine takes longer.
const AGAIN = { timeout: timeLimit(20_000), interval: 20 };

let redis: RedisServer | undefined;
let queues: JobQueue[] = [];
let keyPrefix = '';

beforeAll(async () => {
  redis = await startRedisServer({ settings: ['--appendonly', 'yes', '--appendfsync', 'always'] });
}, timeLimit(30_000));
beforeEach(() => {
  keyPrefix = `recourse:${randomUUID()}`;
});
afterEach(() => {
  for (const queue of queues.splice(0)) void queue.close();
});
afterAll(() => redis?.stop());

const server = (): RedisServer => {
  if (redis === undefined) throw new Error('Redis is there only while tests run.');
  return redis;
};
const lanes = [{ lane: 'default', shards: 1 }];
const ignore = (): void => undefined;
const open = async (): Promise<JobQueue> => {
  const queue = await openUntilReady({ url: server().url, onError: ignore, stallMs: STALL_MS, keyPrefix, lanes });
  queues = [...queues, queue];
  return queue;
};
/** May not be connected yet. */
const openAtOnce = (): JobQueue => {
  const queue = createBullmqJobQueue({ url: server().url, onError: ignore, stallMs: STALL_MS, keyPrefix, lanes });
  queues = [...queues, queue];
  return queue;
};
const job = (call: string): Job => ({ call, tenant: 'a', lane: 'default' });
const offerUntilDone = (queue: JobQueue, call: string): Promise<void> =>
  vi.waitFor(() => queue.offer(job(call)), AGAIN);

const refusedAfterMs = async (queue: JobQueue): Promise<number> => {
  const before = performance.now();
  await expect(queue.offer(job('c_refused'))).rejects.toThrow();
  return performance.now() - before;
};

/** Another process that takes two jobs of a tenant at once, and what it says it has. */
const startHolder = (jobMs = '') => {
  const words = [
    ...FROM_SOURCES,
    join(import.meta.dirname, 'holding-worker.ts'),
    server().url,
    keyPrefix,
    String(STALL_MS),
    jobMs,
  ];
  const holder = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  watchOver(holder);
  onTestFinished(() => void holder.kill('SIGKILL'));
  const [had, errors]: string[][] = [[], []];
  createInterface({ input: holder.stdout }).on('line', (line) => had?.push(line));
  createInterface({ input: holder.stderr }).on('line', (line) => errors?.push(line));
  return { holder, had: had ?? [], errors: errors ?? [] };
};

test('the jobs of a process that was killed come again to another worker, and those that waited are not lost', async () => {
  const queue = await open();
  for (const call of ['c_1', 'c_2', 'c_3']) await queue.offer(job(call));
  const { holder, had } = startHolder();
  await vi.waitFor(() => expect(had).toHaveLength(2), AGAIN);
  expect(await queue.lanes()).toMatchObject([{ waiting: 1 }]);
  const gone = once(holder, 'exit');
  holder.kill('SIGKILL');
  await gone;
  const jobs = recordJobs('pass');
  queue.take([{ lane: 'default', concurrency: 2 }], jobs.run);
  await vi.waitFor(() => expect(jobs.started.toSorted()).toEqual(['c_1', 'c_2', 'c_3']), AGAIN);
  expect(had.toSorted()).toEqual(['c_1', 'c_2']);
  expect(await queue.lanes()).toEqual([{ lane: 'default', waiting: 0, oldestWaitingMs: 0 }]);
});

test('a process that was frozen and goes on does not take its job from the worker that has it now', async () => {
  const queue = await open();
  const { holder, had, errors } = startHolder('2000');
  await queue.offer(job('c_1'));
  await vi.waitFor(() => expect(had).toEqual(['c_1']), AGAIN);
  holder.kill('SIGSTOP');
  const jobs = recordJobs();
  queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
  await vi.waitFor(() => expect(jobs.started).toEqual(['c_1']), AGAIN);
  holder.kill('SIGCONT');
  // It cannot acknowledge what is not its own any more.
  await vi.waitFor(() => expect(errors.join()).toContain('c_1'), AGAIN);
  await queue.offer(job('c_1'));
  await queue.offer(job('c_2'));
  // The one that goes on is a worker as before.
  await vi.waitFor(() => expect(had).toEqual(['c_1', 'c_2']), AGAIN);
  expect(jobs.started).toEqual(['c_1']);
  jobs.end('c_1');
  await vi.waitFor(async () => expect(await queue.lanes()).toMatchObject([{ waiting: 0 }]), AGAIN);
});

test('a job that runs far longer than a stall is offered to no other worker', async () => {
  const [first, second] = [await open(), await open()];
  const [slow, other] = [recordJobs(), recordJobs('pass')];
  first.take([{ lane: 'default', concurrency: 1 }], slow.run);
  await first.offer(job('c_1'));
  await slow.untilStarted(1);
  second.take([{ lane: 'default', concurrency: 1 }], other.run);
  await second.offer(job('c_2'));
  await other.untilStarted(1);
  // Its lock ends 4 s from now at the latest, and it is looked for each second.
  await pause(5 * STALL_MS);
  expect([slow.started, other.started]).toEqual([['c_1'], ['c_2']]);
  slow.end('c_1');
});

test('while Redis is gone an offer is refused at once, and taking goes on when it is back', async () => {
  const queue = await open();
  const jobs = recordJobs('pass');
  const taking = queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
  await queue.offer(job('c_1'));
  await jobs.untilStarted(1);
  await server().kill();
  const early = openAtOnce();
  await vi.waitFor(async () => expect(await refusedAfterMs(queue)).toBeLessThan(timeLimit(500)), SOON);
  expect(await refusedAfterMs(early)).toBeLessThan(timeLimit(500));
  await expect(early.lanes()).rejects.toThrow();
  // What a watchdog looks at stands still.
  const fetchedAt = taking.lastFetchAt();
  await pause(500);
  expect(taking.lastFetchAt()).toBe(fetchedAt);
  await server().restart();
  await offerUntilDone(queue, 'c_2');
  // One that was made while Redis was away is of use as well.
  await offerUntilDone(early, 'c_3');
  await vi.waitFor(() => expect(jobs.started).toEqual(['c_1', 'c_2', 'c_3']), AGAIN);
  expect(jobs.running()).toBe(0);
  expect(taking.lastFetchAt()).toBeGreaterThan(fetchedAt);
});

test('a Redis that does not answer refuses an offer after a second', async () => {
  const queue = openAtOnce();
  await offerUntilDone(queue, 'c_1');
  server().pause();
  try {
    expect(await refusedAfterMs(queue)).toBeLessThan(LONG_TIMEOUT_MS + timeLimit(500));
  } finally {
    server().resume();
  }
  await offerUntilDone(queue, 'c_2');
});

test('jobs that wait survive a restart of a Redis that keeps its data', async () => {
  const queue = await open();
  for (const call of ['c_1', 'c_2', 'c_3']) await queue.offer(job(call));
  await server().restart();
  const jobs = recordJobs('pass');
  queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
  await vi.waitFor(() => expect(jobs.started).toEqual(['c_1', 'c_2', 'c_3']), AGAIN);
});

test('a worker that runs while Redis restarts acknowledges its job afterwards, and the job does not come again', async () => {
  const queue = await open();
  const jobs = recordJobs();
  queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
  await queue.offer(job('c_1'));
  await jobs.untilStarted(1);
  await server().kill();
  jobs.end('c_1');
  await server().restart();
  await offerUntilDone(queue, 'c_2');
  await vi.waitFor(() => expect(jobs.started).toEqual(['c_1', 'c_2']), AGAIN);
  jobs.end('c_2');
  await vi.waitFor(async () => expect(await queue.lanes()).toMatchObject([{ waiting: 0 }]), AGAIN);
  expect(jobs.running()).toBe(0);
});

test('the queue closes while Redis is away', async () => {
  const queue = await open();
  const jobs = recordJobs();
  queue.take([{ lane: 'default', concurrency: 1 }], jobs.run);
  await queue.offer(job('c_1'));
  await jobs.untilStarted(1);
  await server().kill();
  try {
    const closed = queue.close();
    jobs.end('c_1');
    await closed;
  } finally {
    await server().restart();
  }
});
