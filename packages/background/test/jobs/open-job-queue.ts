import { randomUUID } from 'node:crypto';
import { vi } from 'vitest';
import { type BullmqJobQueueOptions, createBullmqJobQueue } from '#src/jobs/bullmq-job-queue.ts';
import type { JobQueue } from '#src/jobs/job-queue.ts';
import { SOON } from './job-recorder.ts';

/** A queue that is connected, with keys of its own. */
export const openUntilReady = async (
  options: Pick<BullmqJobQueueOptions, 'url' | 'onError'> & Partial<BullmqJobQueueOptions>,
): Promise<JobQueue> => {
  const lanes = options.lanes ?? [
    { lane: 'default', shards: 1 },
    { lane: 'gpu', shards: 1 },
  ];
  const queue = createBullmqJobQueue({ keyPrefix: `recourse:${randomUUID()}`, ...options, lanes });
  await vi.waitFor(async () => {
    await queue.lanes();
    // Reaches each shard by both connections, and leaves nothing behind.
    for (const { lane } of lanes)
      for (let count = 0; count < 8; count += 1) {
        const probe = { call: `c_probe_${count}`, tenant: 'a', lane };
        await queue.offer(probe);
        await queue.cancel(probe);
      }
  }, SOON);
  return queue;
};
