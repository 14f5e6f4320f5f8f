import type { Metrics } from 'recourse-server/telemetry/metrics';
import type { Job, JobEnd, JobQueue } from './job-queue.ts';

// As often as Prometheus scrapes at the most; a few commands of Redis for each lane and shard.
const SAMPLE_MS = 5000;

/** Shows what waits in all lanes, every five seconds until it is stopped. */
export const sampleLanes = (
  queue: Pick<JobQueue, 'lanes'>,
  { lanesRead }: Pick<Metrics['jobs'], 'lanesRead'>,
  sampleMs = SAMPLE_MS,
): (() => void) => {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const sample = async (): Promise<void> => {
    // Where the queue does not answer no old number is shown.
    const lanes = await queue.lanes().then(undefined, () => []);
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

/** What takes jobs by this `run`, and counts each. */
export const observeRuns =
  (run: (job: Job) => Promise<JobEnd>, { taken, ended }: Pick<Metrics['jobs'], 'taken' | 'ended'>) =>
  (job: Job): Promise<JobEnd> => {
    taken(job.lane);
    return run(job).finally(() => ended(job.lane));
  };
