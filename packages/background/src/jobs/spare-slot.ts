import type { Job, JobEnd } from './job-queue.ts';
import type { JobShard } from './job-shard.ts';
import { RunningJobs } from './running-jobs.ts';
import type { ShardWorker } from './shard-worker.ts';

export type SpareSlotOptions = {
  /** All shards of a lane, and what takes their jobs in this process. */
  readonly places: readonly {
    readonly shard: Pick<JobShard, 'takeOfOthers' | 'offer'>;
    readonly worker: Pick<ShardWorker, 'isFull' | 'running'>;
  }[];
  readonly run: (job: Job) => Promise<JobEnd>;
  readonly onError: (error: unknown) => void;
};

type Taken = { readonly shard: Pick<JobShard, 'offer'>; readonly job: Job };

// What a tenant waits at most while the calls of another hold all other slots; and then Redis is asked so often.
const LOOK_EVERY_MS = 250;

/**
 * The last slot of a lane, which a tenant gets that has nothing running in it: while all other slots are taken it looks for
 * such a job. BullMQ gives the next job whoever it is of, so this one takes it out of the queue: if this process dies, a
 * sweep of the records queues it again.
 */
export const startSpareSlot = ({ places, run, onError }: SpareSlotOptions): Omit<ShardWorker, 'isFull'> => {
  const running = new RunningJobs();
  let stopped = false;
  let working: Promise<void> | null = null;
  const take = async (): Promise<Taken | null> => {
    for (const { shard, worker } of places) {
      if (stopped || !worker.isFull()) continue;
      const tenants = new Set(places.flatMap((place) => [...place.worker.running.tenants.keys()]));
      const job = await shard.takeOfOthers([...tenants]);
      if (job !== null) return { shard, job };
    }
    return null;
  };
  const offerAgain = (shard: Pick<JobShard, 'offer'>, job: Job): void => void shard.offer(job).catch(onError);
  const perform = async ({ shard, job }: Taken): Promise<void> => {
    if (stopped) return offerAgain(shard, job);
    running.add(job.tenant);
    const end = await run(job);
    running.delete(job.tenant);
    if (end.kind === 'later') setTimeout(offerAgain, stopped ? 0 : end.afterMs, shard, job).unref();
  };
  const work = async (): Promise<void> => {
    for (let taken = await take(); taken !== null; taken = await take()) await perform(taken);
  };
  const timer = setInterval(() => {
    working ??= work()
      .catch(onError)
      .finally(() => {
        working = null;
      });
  }, LOOK_EVERY_MS).unref();
  return {
    running,
    // It takes nothing as long as there is room elsewhere.
    lastFetchAt: () => performance.now(),
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await working;
    },
  };
};
