import type { JobQueue, LaneState } from './job-queue.ts';

/** Is told of what a job queue does. */
export type JobObserver = {
  /** The queue was asked for its lanes; `[]` where it did not answer. */
  readonly lanesRead: (lanes: readonly LaneState[]) => void;
  readonly laneServed: (lane: string) => void;
  readonly taken: (lane: string) => void;
  /** A job that was taken has ended, one way or another. */
  readonly ended: (lane: string) => void;
};

// As often as Prometheus scrapes at the most; a script of Redis for each lane and shard.
const SAMPLE_MS = 5000;

/** The same queue, whose observer is told of each job that is taken and, every five seconds until it closes, of all lanes. */
export const observeJobQueue = (queue: JobQueue, observer: JobObserver, sampleMs = SAMPLE_MS): JobQueue => {
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const sample = async (): Promise<void> => {
    const lanes = await queue.lanes().then(
      (states) => states,
      () => [],
    );
    if (isClosed) return;
    observer.lanesRead(lanes);
    // After the answer, so that a slow Redis is not asked twice at once.
    timer = setTimeout(() => void sample(), sampleMs);
    timer.unref();
  };
  void sample();
  return {
    durability: queue.durability,
    offer: (job) => queue.offer(job),
    offerAgain: (job) => queue.offerAgain(job),
    cancel: (job) => queue.cancel(job),
    lanes: () => queue.lanes(),
    take: (lanes, run) => {
      for (const { lane } of lanes) observer.laneServed(lane);
      return queue.take(lanes, (job) => {
        observer.taken(job.lane);
        return run(job).finally(() => observer.ended(job.lane));
      });
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      return queue.close();
    },
  };
};
