import { hash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { createRedisClient, openQueueConnection } from '@recourse/store-redis/redis-client';
import { KEY_PREFIX } from 'recourse-server/store/shared-connection';
import type { Job, JobQueue, LaneState, ServedLane } from './job-queue.ts';
import { JobShard, type QueueConnection } from './job-shard.ts';
import { sharedSlots } from './running-jobs.ts';
import { type RunOptions, ShardWorker, SpareSlot } from './shard-worker.ts';

export type BullmqJobQueueOptions = {
  readonly url: Parameters<typeof createRedisClient>[0];
  /** Into how many queues the jobs of each lane are spread: more than one lets a cluster's nodes share its work. */
  readonly lanes: readonly { readonly lane: string; readonly shards: number }[];
  /** Is told of each error of a connection and of what the queue could not note; nothing is thrown at the process. */
  readonly onError: (error: unknown) => void;
  /** A job whose worker has given no sign for so many milliseconds is offered again, twice as late at most. Left out: 30 s. */
  readonly stallMs?: number;
  /** What the keys begin with. */
  readonly keyPrefix?: string;
};

// The net below the sweeps of the records: jobs of calls that have ended, whose worker died before it said so.
const STALL_MS = 30_000;
// What acknowledging the last jobs may take when the queue closes; where Redis is away they are offered again.
const LAST_WORDS_MS = 2000;

// At least one for each shard, or its jobs would wait for another worker.
const shareOf = (concurrency: number, shards: number, shard: number): number =>
  Math.max(1, Math.floor(concurrency / shards) + (shard < concurrency % shards ? 1 : 0));

/**
 * Jobs in Redis, where they outlive every process: BullMQ offers them to workers by the order of tenants, which is kept beside
 * it. A lane has `shards` queues; which one a job is in follows from its call.
 */
export const createBullmqJobQueue = (options: BullmqJobQueueOptions): JobQueue => {
  const { url, onError, stallMs = STALL_MS, keyPrefix = KEY_PREFIX } = options;
  const client = createRedisClient(url);
  const connection = openQueueConnection(url, 'producer');
  client.onError(onError);
  connection.on('error', onError);
  client.connect();
  const lanes = new Map<string, readonly JobShard[]>();
  const openLane = (lane: string, count: number): readonly JobShard[] => {
    const shards = Array.from(
      { length: count },
      (_, shard) => new JobShard({ keyPrefix, lane, shard, client, connection }),
    );
    lanes.set(lane, shards);
    return shards;
  };
  for (const { lane, shards } of options.lanes) openLane(lane, shards);
  const shardsOf = (lane: string): readonly JobShard[] => lanes.get(lane) ?? openLane(lane, 1);
  const shardFor = ({ lane, call }: Job): JobShard => {
    const shards = shardsOf(lane);
    const shard = shards[Number.parseInt(hash('sha256', call).slice(0, 8), 16) % shards.length];
    if (shard === undefined) throw new Error(`The lane ${lane} has no shard for ${call}.`);
    return shard;
  };
  const workers: (ShardWorker | SpareSlot)[] = [];
  let workerConnection: QueueConnection | undefined;
  const startLane = ({ lane, concurrency }: ServedLane, { run }: Pick<RunOptions, 'run'>): typeof workers => {
    workerConnection ??= openQueueConnection(url, 'worker');
    const shards = shardsOf(lane);
    // Each shard has one slot at least.
    const shared = concurrency > shards.length ? sharedSlots(concurrency) : concurrency;
    const common = { connection: workerConnection, stallMs, run, onError };
    const started = shards.map(
      (shard, at) => new ShardWorker(shard, { ...common, concurrency: shareOf(shared, shards.length, at) }),
    );
    return shared === concurrency ? started : [...started, new SpareSlot(started, common)];
  };
  return {
    offer: async (job) => void (await shardFor(job).offer(job)),
    offerAgain: async (job) => shardFor(job).offerAgain(job),
    cancel: async (job) => shardFor(job).cancel(job),
    lanes: () => Promise.all([...lanes].map(([lane, shards]) => readState(lane, shards))),
    take: (served, run) => {
      const started = served.flatMap((lane) => startLane(lane, { run }));
      workers.push(...started);
      return {
        stop: () => {
          for (const worker of started) void worker.stop();
        },
        lastFetchAt: () => Math.min(...started.map((worker) => worker.lastFetchAt())),
      };
    },
    close: async () => {
      const stopped = Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(workers.map(({ running }) => running.whenIdle()));
      await Promise.race([stopped, setTimeout(LAST_WORDS_MS, null, { ref: false })]);
      await Promise.all([...lanes.values()].flat().map((shard) => shard.close()));
      for (const one of [client, connection, workerConnection]) one?.disconnect();
    },
  };
};

const readState = async (lane: string, shards: readonly JobShard[]): Promise<LaneState> => {
  const states = await Promise.all(shards.map((shard) => shard.state()));
  return {
    lane,
    waiting: states.reduce((sum, { waiting }) => sum + waiting, 0),
    oldestWaitingMs: Math.max(0, ...states.map(({ oldestWaitingMs }) => oldestWaitingMs)),
  };
};
