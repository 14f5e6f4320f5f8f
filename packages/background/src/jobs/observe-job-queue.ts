import type { Job, JobEnd, JobQueue, LaneState } from './job-queue.ts';

/** Is told of what a job queue does. */
export type JobObserver = {
  /** The queue was asked for its lanes; `[]` where it did not answer. */
  readonly lanesRead: (lanes: readonly LaneState[]) => void;
  readonly laneServed: (lane: string) => void;
  readonly taken: (lane: string) => void;
  /** A job that was taken has ended, one way or another. */
  readonly ended: (lane: string) => void;
};

// As often as Prometheus scrapes at the most; a few commands of Redis for each lane and shard.
const SAMPLE_MS = 5000;

/** Tells the observer of all lanes, every five seconds until it is stopped. */
export const sampleLanes = (
  queue: Pick<JobQueue, 'lanes'>,
  { lanesRead }: Pick<JobObserver, 'lanesRead'>,
  sampleMs = SAMPLE_MS,
): (() => void) => {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const sample = async (): Promise<void> => {
    const lanes = await queue.lanes().then(
      (states) => states,
      () => [],
    );
    if (isStopped) return;
    lanesRead(lanes);
    // After the answer, so that a slow Redis is not asked twice at once.
    timer = setTimeout(() => void sample(), sampleMs).unref();
  };
  void sample();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
};

/** What takes jobs by this `run`, and tells the observer of each. */
export const observeRuns =
  (run: (job: Job) => Promise<JobEnd>, { taken, ended }: Pick<JobObserver, 'taken' | 'ended'>) =>
  (job: Job): Promise<JobEnd> => {
    taken(job.lane);
    return run(job).finally(() => ended(job.lane));
  };
