import { CommandTimeout, LONG_TIMEOUT_MS } from '@recourse/store-redis/command-timeout';
import { createRedisScript, type openQueueConnection, type RedisClient } from '@recourse/store-redis/redis-client';
import { Queue } from 'bullmq';
import * as z from 'zod';
import type { Job, LaneState } from './job-queue.ts';

/** What BullMQ keeps of a job beside its id, which is the call. */
export const JobData = z.object({ tenant: z.string() });
export type JobData = z.infer<typeof JobData>;

/** The priority of a job that comes again: BullMQ runs it before all that have one. */
export const AGAIN_TAG = 0;

/** The jobs of one lane whose calls fall into one shard: one queue of BullMQ, and beside it who has which turn. */
export type JobShard = {
  readonly lane: string;
  /** Where BullMQ's keys begin; with the hash tag that keeps them together in a cluster. */
  readonly prefix: string;
  readonly offer: (job: Job) => Promise<void>;
  readonly offerAgain: (job: Job) => Promise<void>;
  readonly cancel: (job: Job) => Promise<void>;
  readonly state: () => Promise<Omit<LaneState, 'lane'>>;
  /** A worker has taken a job with this tag. */
  readonly noteTaken: (job: Job, tag: number) => Promise<void>;
  /** Takes the first job that waits of a tenant that is none of these out of the queue; null: there is none. */
  readonly takeOfOthers: (tenants: readonly string[]) => Promise<Job | null>;
  /** A job waits again, after so many milliseconds. */
  readonly noteAgain: (call: string, afterMs: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

export type JobShardOptions = {
  /** What the keys of all lanes begin with. */
  readonly keyPrefix: string;
  readonly lane: string;
  readonly shard: number;
  /** For the turns. */
  readonly client: Pick<RedisClient, 'callWithTimeout' | 'preload'>;
  /** For BullMQ. */
  readonly connection: ReturnType<typeof openQueueConnection>;
};

/** The one queue of BullMQ at a shard; its shard tells it apart. */
export const BULLMQ_NAME = 'jobs';

// In place of the lock of the worker that has a job: BullMQ takes the job from whoever has it.
const ANY_WORKER = '0';

const TURNS = new URL('lua/turns.lua', import.meta.url);
// BullMQ writes each step of each job down, for listeners that this service does not have; without a limit 10 000.
const MOST_EVENTS = 100;
const State = z.tuple([z.int(), z.int()]);

/** Opens the queue of one shard. It connects nothing itself. */
export const createJobShard = (options: JobShardOptions): JobShard => {
  const { lane, client, connection } = options;
  const prefix = `${options.keyPrefix}:{jobs:${lane}:${options.shard}}`;
  const queue = new Queue<JobData>(BULLMQ_NAME, {
    connection,
    prefix,
    // The versions of Redis that the service runs with are BullMQ's as well; and it would print its advice.
    skipVersionCheck: true,
    streams: { events: { maxLen: MOST_EVENTS } },
    defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
  });
  // They are the connection's, whose owner hears of them.
  queue.on('error', () => undefined);
  const script = createRedisScript(client, TURNS);
  const own = ['turns', 'waiting', 'since'].map((name) => `${prefix}:${name}`);
  const keys = [...own, ...['prioritized', 'wait', 'delayed', 'active'].map((name) => queue.toKey(name))];
  const run = (step: string, ...words: readonly string[]): Promise<unknown> =>
    script(keys, [step, queue.toKey(''), ...words]);
  const timeout = new CommandTimeout(LONG_TIMEOUT_MS);
  // BullMQ waits for a connection, and would do later what nobody waits for any more.
  const inTime = <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    if (connection.status !== 'ready') return Promise.reject(new Error('Redis is not connected'));
    const answer = timeout.wait(ask());
    timeout.begin(performance.now());
    return answer;
  };
  const noteTaken: JobShard['noteTaken'] = async ({ call, tenant }, tag) => {
    await run('take', tenant, call, String(tag));
  };
  const noteAgain: JobShard['noteAgain'] = async (call, afterMs) => {
    await run('again', call, String(Math.round(afterMs)));
  };
  const offer = async ({ call, tenant }: Job): Promise<'waits' | 'taken'> => {
    const tag = Number(await run('offer', tenant, call));
    if (tag > 0) await inTime(() => queue.add('call', { tenant }, { jobId: call, priority: tag }));
    return tag < 0 ? 'taken' : 'waits';
  };
  return {
    lane,
    prefix,
    offer: async (job) => void (await offer(job)),
    offerAgain: async (job) => {
      if ((await offer(job)) === 'waits') return;
      const queued = await inTime(() => queue.getJob(job.call));
      await inTime(async () => queued?.changePriority({ priority: AGAIN_TAG }));
      await inTime(async () => queued?.moveToWait(ANY_WORKER));
      await noteAgain(job.call, 0);
    },
    cancel: async ({ call, tenant }) => {
      const queued = await inTime(() => queue.getJob(call));
      if (queued === undefined) return;
      const removed = await inTime(() => queue.remove(call));
      if (removed === 0) return;
      const youngest = await run('remove', tenant, call, String(queued.priority));
      if (typeof youngest !== 'string') return;
      const moved = await inTime(() => queue.getJob(youngest));
      await inTime(async () => moved?.changePriority({ priority: queued.priority }));
    },
    state: async () => {
      const [count, oldestWaitingMs] = State.parse(await run('state'));
      return { waiting: count, oldestWaitingMs };
    },
    noteTaken,
    takeOfOthers: async (tenants) => {
      const call = await run('others', ...tenants);
      const queued = typeof call === 'string' ? await queue.getJob(call) : undefined;
      // Whoever removes it has it: a job that a worker has taken cannot be removed.
      if (queued?.id === undefined || (await queue.remove(queued.id)) === 0) return null;
      const job = { call: queued.id, tenant: JobData.parse(queued.data).tenant, lane };
      await noteTaken(job, queued.priority);
      return job;
    },
    noteAgain,
    close: () => queue.close(),
  };
};
