import { createMetrics } from 'recourse-server/internal/telemetry/metrics.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { JobQueue } from '#src/jobs/job-queue.ts';
import { createMemoryJobQueue } from '#src/jobs/memory-job-queue.ts';
import { observeRuns, sampleLanes } from '#src/jobs/observe-job-queue.ts';
import { recordJobs, SOON } from './job-recorder.ts';

const observe = (queue: Pick<JobQueue, 'lanes'>) => {
  const metrics = createMetrics('1.0.0');
  onTestFinished(sampleLanes(queue, metrics.jobs, 5));
  const lines = async (): Promise<readonly string[]> =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('recourse_jobs_'));
  return { metrics, lines };
};

test('metrics show what waits in each lane, what runs here, and what was taken', async () => {
  const queue = createMemoryJobQueue(['default', 'gpu']);
  const { metrics, lines } = observe(queue);
  await queue.offer({ call: 'c_1', tenant: 'a', lane: 'gpu' });
  await vi.waitFor(async () => {
    expect(await lines()).toEqual([
      'recourse_jobs_waiting{lane="default"} 0',
      'recourse_jobs_waiting{lane="gpu"} 1',
      'recourse_jobs_oldest_waiting_seconds{lane="default"} 0',
      expect.stringMatching(/^recourse_jobs_oldest_waiting_seconds\{lane="gpu"\} 0\.\d+$/),
    ]);
  }, SOON);
  const jobs = recordJobs();
  for (const lane of ['default', 'gpu']) metrics.jobs.laneServed(lane);
  queue.take(
    [
      { lane: 'default', concurrency: 1 },
      { lane: 'gpu', concurrency: 1 },
    ],
    observeRuns(jobs.run, metrics.jobs),
  );
  await jobs.untilStarted(1);
  await vi.waitFor(async () => {
    expect(await lines()).toEqual([
      'recourse_jobs_waiting{lane="default"} 0',
      'recourse_jobs_waiting{lane="gpu"} 0',
      'recourse_jobs_oldest_waiting_seconds{lane="default"} 0',
      'recourse_jobs_oldest_waiting_seconds{lane="gpu"} 0',
      'recourse_jobs_running{lane="default"} 0',
      'recourse_jobs_running{lane="gpu"} 1',
      'recourse_jobs_taken_total{lane="default"} 0',
      'recourse_jobs_taken_total{lane="gpu"} 1',
    ]);
  }, SOON);
  jobs.end('c_1');
  await vi.waitFor(async () => expect(await lines()).toContain('recourse_jobs_running{lane="gpu"} 0'), SOON);
});

test('while the queue does not answer, no old number is shown', async () => {
  const memory = createMemoryJobQueue(['default']);
  let isAway = false;
  const { lines } = observe({ lanes: () => (isAway ? Promise.reject(new Error('away')) : memory.lanes()) });
  await vi.waitFor(async () => expect(await lines()).toHaveLength(2), SOON);
  isAway = true;
  await vi.waitFor(async () => expect(await lines()).toHaveLength(0), SOON);
  isAway = false;
  await vi.waitFor(async () => expect(await lines()).toHaveLength(2), SOON);
});
