import { afterEach } from 'vitest';
import type { JobQueue } from '#src/jobs/job-queue.ts';
import { createMemoryJobQueue } from '#src/jobs/memory-job-queue.ts';
import { describeJobQueue } from './describe-job-queue.ts';

const opened: JobQueue[] = [];

const open = (): Promise<JobQueue> => {
  const queue = createMemoryJobQueue(['default', 'gpu']);
  opened.push(queue);
  return Promise.resolve(queue);
};

afterEach(() => {
  // Some tests leave jobs running, for which closing would wait.
  for (const queue of opened.splice(0)) void queue.close();
});

describeJobQueue('in this process', open);
