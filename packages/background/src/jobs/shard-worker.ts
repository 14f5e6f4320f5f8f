import type { openQueueConnection } from '@recourse/store-redis/redis-client';
import {
  type BackendFactory,
  createRedisBackend,
  DelayedError,
  type Job as QueuedJob,
  type RedisQueueBackend,
  WaitingError,
  Worker,
} from 'bullmq';
import type { Job, JobEnd } from './job-queue.ts';
import { AGAIN_TAG, BULLMQ_NAME, JobData, type JobShard } from './job-shard.ts';
import { RunningJobs } from './running-jobs.ts';

/** Takes the jobs of one shard. */
export type ShardWorker = {
  readonly running: RunningJobs;
  /** Whether it takes no further job before one of those that run has ended. */
  readonly isFull: () => boolean;
  readonly lastFetchAt: () => number;
  /** Takes nothing more; resolves when what runs has ended and is acknowledged. */
  readonly stop: () => Promise<void>;
};

export type ShardWorkerOptions = {
  readonly shard: JobShard;
  readonly connection: ReturnType<typeof openQueueConnection>;
  readonly concurrency: number;
  /** After so many milliseconds without a sign of its worker a job is offered again; twice as late in the worst case. */
  readonly stallMs: number;
  readonly run: (job: Job) => Promise<JobEnd>;
  readonly onError: (error: unknown) => void;
};

// The record of a call says how often it may run; no number of stalls makes BullMQ give up a job.
const ANY_STALLS = 1_000_000_000;
// What BullMQ waits for after an error of its connection; by itself 15 s.
const RETRY_DELAY_MS = 1000;

/** Starts at once, and goes on when Redis is back after an outage. */
export const startShardWorker = (options: ShardWorkerOptions): ShardWorker => {
  const { shard, concurrency, stallMs, onError } = options;
  const running = new RunningJobs();
  let stopped: Promise<void> | undefined;
  let fetchedAt = performance.now();
  const noteFetches: BackendFactory<RedisQueueBackend> = (...words) => {
    const backend = createRedisBackend(...words);
    const moveToActive = backend.moveToActive.bind(backend);
    backend.moveToActive = async (...fetch) => {
      const answer = await moveToActive(...fetch);
      fetchedAt = performance.now();
      return answer;
    };
    return backend;
  };
  const giveBack = async (queued: QueuedJob<JobData>, afterMs: number, token: string): Promise<never> => {
    await queued.changePriority({ priority: AGAIN_TAG });
    await shard.noteAgain(String(queued.id), afterMs).catch(onError);
    if (afterMs <= 0) {
      await queued.moveToWait(token);
      throw new WaitingError();
    }
    await queued.moveToDelayed(Date.now() + afterMs, token);
    throw new DelayedError();
  };
  const end = (tenant: string): void => {
    running.delete(tenant);
    fetchedAt = performance.now();
  };
  const perform = async (queued: QueuedJob<JobData>, token = ''): Promise<void> => {
    // It was on its way when the worker was stopped.
    if (stopped !== undefined) return giveBack(queued, 0, token);
    const job = { call: String(queued.id), tenant: JobData.parse(queued.data).tenant, lane: shard.lane };
    running.add(job.tenant);
    // A turn that could not be noted costs its tenant's order something, and the job nothing.
    const noted = shard.noteTaken(job, queued.priority).catch(onError);
    const outcome = await options.run(job).finally(() => end(job.tenant));
    await noted;
    if (outcome.kind === 'later') await giveBack(queued, outcome.afterMs, token);
  };
  const worker = new Worker<JobData, void>(
    BULLMQ_NAME,
    perform,
    {
      connection: options.connection,
      prefix: shard.prefix,
      concurrency,
      lockDuration: stallMs,
      stalledInterval: stallMs,
      maxStalledCount: ANY_STALLS,
      runRetryDelay: RETRY_DELAY_MS,
      skipVersionCheck: true,
    },
    noteFetches,
  );
  worker.on('error', onError);
  worker.on('stalled', (call) => void shard.noteAgain(call, 0).catch(onError));
  return {
    running,
    isFull: () => running.count >= concurrency,
    lastFetchAt: () => (running.count >= concurrency ? performance.now() : fetchedAt),
    stop: () => {
      stopped ??= worker.close();
      return stopped;
    },
  };
};
