import { CommandTimeout, LONG_TIMEOUT_MS } from '@recourse/store-redis/command-timeout';
import { createRedisScript, type openQueueConnection, type RedisClient } from '@recourse/store-redis/redis-client';
import { Queue, type Job as QueuedJob } from 'bullmq';
import * as z from 'zod';
import type { Job, LaneState } from './job-queue.ts';

// `since`: from when on a job that comes again waits, in Unix milliseconds. Left out: since it was added.
const JobData = z.object({ tenant: z.string(), since: z.number().optional() });
/** What BullMQ keeps of a job beside its id, which is the call. */
export type JobData = z.infer<typeof JobData>;

/** The priority of a job that comes again: BullMQ runs it before all that have one. */
export const AGAIN_TAG = 0;

/** The one queue of BullMQ at a shard; its shard tells it apart. */
export const BULLMQ_NAME = 'jobs';

export type QueueConnection = ReturnType<typeof openQueueConnection>;

// In place of the lock of the worker that has a job: BullMQ takes the job from any.
const ANY_WORKER = '0';
// BullMQ writes each step of each job down, for listeners that this service does not have; without a limit 10 000.
const MOST_EVENTS = 100;
// Tenants take turns: the first job of each is among the first two or three of any other.
const MOST_READ = 100;
const ORDER = new URL('lua/tenant-order.lua', import.meta.url);

/**
 * The jobs of one lane whose calls fall into one shard: one queue of BullMQ, and beside it the order of tenants, which gives
 * each job its priority. Connects nothing itself.
 */
export class JobShard {
  readonly lane: string;
  /** Where BullMQ's keys begin; with the hash tag that keeps them together in a cluster. */
  readonly prefix: string;
  readonly #connection: QueueConnection;
  readonly #queue: Queue<JobData>;
  readonly #order: (step: string, job: Job, tag?: number) => Promise<unknown>;
  readonly #timeout = new CommandTimeout(LONG_TIMEOUT_MS);

  constructor({
    keyPrefix,
    lane,
    shard,
    client,
    connection,
  }: {
    /** What the keys of all lanes begin with. */
    readonly keyPrefix: string;
    readonly lane: string;
    readonly shard: number;
    /** For the order of tenants. */
    readonly client: Pick<RedisClient, 'openScript'>;
    /** For BullMQ. */
    readonly connection: QueueConnection;
  }) {
    this.lane = lane;
    this.prefix = `${keyPrefix}:{jobs:${lane}:${shard}}`;
    this.#connection = connection;
    const queue = new Queue<JobData>(BULLMQ_NAME, {
      connection,
      prefix: this.prefix,
      // The versions of Redis that the service runs with are BullMQ's as well; and it would print its advice.
      skipVersionCheck: true,
      streams: { events: { maxLen: MOST_EVENTS } },
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    });
    // They are the connection's, whose owner gets them.
    queue.on('error', () => undefined);
    this.#queue = queue;
    const script = createRedisScript(client, ORDER);
    const keys = [
      ...['turns', 'waiting'].map((name) => `${this.prefix}:${name}`),
      ...['prioritized', 'wait', 'active'].map((name) => queue.toKey(name)),
    ];
    this.#order = (step, { call, tenant }, tag) =>
      script(keys, [step, queue.toKey(call), tenant, call, ...(tag === undefined ? [] : [String(tag)])]);
  }

  async offer(job: Job): Promise<'waits' | 'taken'> {
    const { call, tenant } = job;
    const tag = Number(await this.#order('offer', job));
    if (tag > 0) await this.#inTime(() => this.#queue.add('call', { tenant }, { jobId: call, priority: tag }));
    return tag < 0 ? 'taken' : 'waits';
  }

  /** The same of a job that no worker has, whatever BullMQ believes. */
  async offerAgain(job: Job): Promise<void> {
    if ((await this.offer(job)) === 'waits') return;
    const queued = await this.#inTime(() => this.#queue.getJob(job.call));
    if (queued === undefined) return;
    await this.#inTime(() => noteAgain(queued, 0));
    await this.#inTime(() => queued.moveToWait(ANY_WORKER));
  }

  async cancel(job: Job): Promise<void> {
    const queued = await this.#inTime(() => this.#queue.getJob(job.call));
    if (queued === undefined || (await this.#inTime(() => this.#queue.remove(job.call))) === 0) return;
    const youngest = await this.#order('remove', job, queued.priority);
    if (typeof youngest !== 'string') return;
    const moved = await this.#inTime(() => this.#queue.getJob(youngest));
    await this.#inTime(async () => moved?.changePriority({ priority: queued.priority }));
  }

  /** The oldest is among the first of those that wait, for the jobs of each tenant run in their order. */
  async state(): Promise<Omit<LaneState, 'lane'>> {
    const now = Date.now();
    const [waiting, due, first] = await this.#inTime(() =>
      Promise.all([
        this.#queue.getJobCountByTypes('waiting', 'prioritized'),
        this.#queue.getDelayedCount(now + 1),
        this.#queue.getJobs(['waiting', 'prioritized', 'delayed'], 0, MOST_READ - 1, true),
      ]),
    );
    const ages = first.map(({ data, timestamp }) => now - (data.since ?? timestamp));
    return { waiting: waiting + due, oldestWaitingMs: Math.max(0, ...ages) };
  }

  /** Notes that a worker has taken the job, which has this tag. */
  async noteTaken(job: Job, tag: number): Promise<void> {
    await this.#order('take', job, tag);
  }

  /** Takes the first job that waits of a tenant that is none of these out of the queue; null: there is none. */
  async takeOfOthers(tenants: ReadonlySet<string>): Promise<Job | null> {
    for (const type of ['waiting', 'prioritized'] as const) {
      const first = await this.#queue.getJobs([type], 0, MOST_READ - 1, true);
      const queued = first.find(({ data }) => !tenants.has(data.tenant));
      if (queued === undefined) continue;
      const job = this.toJob(queued);
      // Who removes it has it: a job that a worker has taken cannot be removed.
      if ((await this.#queue.remove(job.call)) === 0) return null;
      await this.noteTaken(job, queued.priority);
      return job;
    }
    return null;
  }

  toJob({ id, data }: QueuedJob<JobData>): Job {
    return { call: String(id), tenant: JobData.parse(data).tenant, lane: this.lane };
  }

  close(): Promise<void> {
    return this.#queue.close();
  }

  // BullMQ waits for a connection, and would do later what nothing waits for any more.
  #inTime<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    if (this.#connection.status !== 'ready') return Promise.reject(new Error('Redis is not connected'));
    const answer = this.#timeout.wait(ask());
    this.#timeout.begin(performance.now());
    return answer;
  }
}

/** Has a job run before those that no worker has had, once it is moved; it waits again after so many milliseconds. */
export const noteAgain = async (queued: QueuedJob<JobData>, afterMs: number): Promise<void> => {
  await queued.updateData({ ...queued.data, since: Date.now() + afterMs });
  await queued.changePriority({ priority: AGAIN_TAG });
};
