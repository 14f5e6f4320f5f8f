import { hash } from 'node:crypto';
import { createRedisClient, openQueueConnection, type RedisAddress } from '@recourse/store-redis/redis-client';
import { KEY_PREFIX } from 'recourse-server/store/key-prefix';
import type { Job, JobQueue, LaneState, ServedLane } from './job-queue.ts';
import { createJobShard, type JobShard } from './job-shard.ts';
import { sharedSlots } from './running-jobs.ts';
import { type ShardWorker, startShardWorker } from './shard-worker.ts';
import { startSpareSlot } from './spare-slot.ts';

/** A lane, and into how many queues its jobs are spread: more than one lets a cluster's nodes share its work. */
export type LaneShards = { readonly lane: string; readonly shards: number };

export type BullmqJobQueueOptions = {
  readonly url: RedisAddress;
  readonly lanes: readonly LaneShards[];
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

const shardOf = (call: string, shards: number): number =>
  shards === 1 ? 0 : Number.parseInt(hash('sha256', call).slice(0, 8), 16) % shards;

// At least one for each shard, or its jobs would wait for another worker.
const shareOf = (concurrency: number, shards: number, shard: number): number =>
  Math.max(1, Math.floor(concurrency / shards) + (shard < concurrency % shards ? 1 : 0));

/**
 * Jobs in Redis, where they outlive every process: BullMQ offers them to workers, and the turns of tenants are kept beside
 * it. A lane has `shards` queues; which one a job is in follows from its call.
 */
export const createBullmqJobQueue = (options: BullmqJobQueueOptions): JobQueue => {
  const { url, onError, stallMs = STALL_MS, keyPrefix = KEY_PREFIX } = options;
  const client = createRedisClient(url);
  const producer = openQueueConnection(url, 'producer');
  client.onError(onError);
  producer.on('error', onError);
  client.connect();
  const shardCounts = new Map(options.lanes.map(({ lane, shards }) => [lane, shards]));
  const lanes = new Map<string, readonly JobShard[]>();
  const shardsOf = (lane: string): readonly JobShard[] => {
    const known = lanes.get(lane);
    if (known !== undefined) return known;
    const fresh = Array.from({ length: shardCounts.get(lane) ?? 1 }, (_, shard) =>
      createJobShard({ keyPrefix, lane, shard, client, connection: producer }),
    );
    lanes.set(lane, fresh);
    return fresh;
  };
  const shardFor = ({ lane, call }: Job): JobShard => {
    const shards = shardsOf(lane);
    const shard = shards[shardOf(call, shards.length)];
    if (shard === undefined) throw new Error(`The lane ${lane} has no shard for ${call}.`);
    return shard;
  };
  const stateOf = async (lane: string): Promise<LaneState> => {
    const states = await Promise.all(shardsOf(lane).map((shard) => shard.state()));
    return {
      lane,
      waiting: states.reduce((sum, state) => sum + state.waiting, 0),
      oldestWaitingMs: Math.max(0, ...states.map((state) => state.oldestWaitingMs)),
    };
  };
  for (const lane of shardCounts.keys()) shardsOf(lane);
  const workers: LaneWorker[] = [];
  let workerConnection: ReturnType<typeof openQueueConnection> | undefined;
  return {
    durability: 'durable',
    offer: async (job) => shardFor(job).offer(job),
    offerAgain: async (job) => shardFor(job).offerAgain(job),
    cancel: async (job) => shardFor(job).cancel(job),
    lanes: () => Promise.all([...lanes.keys()].map(stateOf)),
    take: (served, run) => {
      workerConnection ??= openQueueConnection(url, 'worker');
      const connection = workerConnection;
      const start = ({ lane, concurrency }: ServedLane): readonly LaneWorker[] => {
        const shards = shardsOf(lane);
        // Each shard has one slot at least.
        const shared = concurrency > shards.length ? sharedSlots(concurrency) : concurrency;
        const places = shards.map((shard, at) => {
          const share = shareOf(shared, shards.length, at);
          return { shard, worker: startShardWorker({ shard, connection, concurrency: share, stallMs, run, onError }) };
        });
        const started = places.map(({ worker }) => worker);
        return shared === concurrency ? started : [...started, startSpareSlot({ places, run, onError })];
      };
      const started = served.flatMap(start);
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
      await Promise.race([stopped, afterMs(LAST_WORDS_MS)]);
      await Promise.all([...lanes.values()].flat().map((shard) => shard.close()));
      for (const connection of [client, producer, workerConnection]) connection?.disconnect();
    },
  };
};

type LaneWorker = Pick<ShardWorker, 'running' | 'lastFetchAt' | 'stop'>;

const afterMs = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
