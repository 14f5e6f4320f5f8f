import type { BackendFactory, Job as QueuedJob, RedisQueueBackend } from 'bullmq';
import { createRedisBackend, DelayedError, WaitingError, Worker } from 'bullmq';
import type { Job, JobEnd } from './job-queue.ts';
import { BULLMQ_NAME, type JobData, type JobShard, noteAgain, type QueueConnection } from './job-shard.ts';
import { RunningJobs } from './running-jobs.ts';

export type RunOptions = {
  readonly run: (job: Job) => Promise<JobEnd>;
  readonly onError: (error: unknown) => void;
};

// The record of a call says how often it may run; no number of stalls makes BullMQ give up a job.
const ANY_STALLS = 1_000_000_000;
// What BullMQ waits for after an error of its connection; by itself 15 s.
const RETRY_DELAY_MS = 1000;

/** Takes the jobs of one shard. Starts at once, and goes on when Redis is back after an outage. */
export class ShardWorker {
  readonly shard: JobShard;
  readonly running = new RunningJobs();
  readonly #concurrency: number;
  readonly #options: RunOptions;
  readonly #worker: Worker<JobData, void>;
  #stopped: Promise<void> | undefined;
  #fetchedAt = performance.now();

  constructor(
    shard: JobShard,
    options: RunOptions & {
      readonly connection: QueueConnection;
      readonly concurrency: number;
      /** After so many milliseconds without a sign of its worker a job is offered again; twice as late in the worst case. */
      readonly stallMs: number;
    },
  ) {
    const { connection, concurrency, stallMs, onError } = options;
    this.shard = shard;
    this.#concurrency = concurrency;
    this.#options = options;
    this.#worker = new Worker<JobData, void>(
      BULLMQ_NAME,
      (queued, token = '') => this.#perform(queued, token),
      {
        ...{ connection, prefix: shard.prefix, concurrency, lockDuration: stallMs, stalledInterval: stallMs },
        ...{ maxStalledCount: ANY_STALLS, runRetryDelay: RETRY_DELAY_MS, skipVersionCheck: true },
      },
      this.#noteFetches,
    );
    this.#worker.on('error', onError);
  }

  /** Whether it takes no further job before one of those that run has ended. */
  isFull(): boolean {
    return this.running.count >= this.#concurrency;
  }

  lastFetchAt(): number {
    return this.isFull() ? performance.now() : this.#fetchedAt;
  }

  /** Takes nothing more; resolves when what runs has ended and is acknowledged. */
  stop(): Promise<void> {
    this.#stopped ??= this.#worker.close();
    return this.#stopped;
  }

  readonly #noteFetches: BackendFactory<RedisQueueBackend> = (...args) => {
    const backend = createRedisBackend(...args);
    const moveToActive = backend.moveToActive.bind(backend);
    backend.moveToActive = async (...fetch) => {
      const answer = await moveToActive(...fetch);
      this.#fetchedAt = performance.now();
      return answer;
    };
    return backend;
  };

  async #perform(queued: QueuedJob<JobData>, token: string): Promise<void> {
    // It was on its way when the worker was stopped.
    if (this.#stopped !== undefined) return giveBack(queued, 0, token);
    const job = this.shard.toJob(queued);
    this.running.add(job.tenant);
    // A turn that could not be noted costs its tenant's order something, and the job nothing.
    const noted = this.shard.noteTaken(job, queued.priority).catch(this.#options.onError);
    const end = await this.#options.run(job).finally(() => {
      this.running.delete(job.tenant);
      this.#fetchedAt = performance.now();
    });
    await noted;
    if (end.kind === 'later') await giveBack(queued, end.afterMs, token);
  }
}

const giveBack = async (queued: QueuedJob<JobData>, afterMs: number, token: string): Promise<never> => {
  await noteAgain(queued, afterMs);
  if (afterMs <= 0) {
    await queued.moveToWait(token);
    throw new WaitingError();
  }
  await queued.moveToDelayed(Date.now() + afterMs, token);
  throw new DelayedError();
};

// What a tenant waits at most while the calls of another hold all other slots; and then Redis is asked so often.
const LOOK_EVERY_MS = 250;

/**
 * The last slot of a lane, which a tenant gets that has nothing running in it: while all other slots are taken it looks for
 * such a job. BullMQ gives the next job of any tenant, so this one takes it out of the queue: if this process dies, a
 * sweep of the records queues it again.
 */
export class SpareSlot {
  readonly running = new RunningJobs();
  /** Of all shards of the lane. */
  readonly #workers: readonly ShardWorker[];
  readonly #options: RunOptions;
  readonly #timer: NodeJS.Timeout;
  #isStopped = false;
  #working: Promise<void> | null = null;

  constructor(workers: readonly ShardWorker[], options: RunOptions) {
    this.#workers = workers;
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#working ??= this.#work()
        .catch(options.onError)
        .finally(() => {
          this.#working = null;
        });
    }, LOOK_EVERY_MS).unref();
  }

  // It takes nothing as long as there is room elsewhere.
  lastFetchAt(): number {
    return performance.now();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#working;
  }

  async #work(): Promise<void> {
    for (const worker of this.#workers) {
      if (this.#isStopped || !worker.isFull()) continue;
      const tenants = new Set(this.#workers.flatMap(({ running }) => [...running.tenants.keys()]));
      const job = await worker.shard.takeOfOthers(tenants);
      if (job === null) continue;
      await this.#perform(worker.shard, job);
      return this.#work();
    }
  }

  async #perform(shard: JobShard, job: Job): Promise<void> {
    const offer = (): void => void shard.offer(job).catch(this.#options.onError);
    if (this.#isStopped) return offer();
    this.running.add(job.tenant);
    const end = await this.#options.run(job);
    this.running.delete(job.tenant);
    if (end.kind === 'later') setTimeout(offer, this.#isStopped ? 0 : end.afterMs).unref();
  }
}
