// A process of its own: takes jobs, says which, and ends each after a time, or never. Words: the URL of Redis, the prefix of
// keys, the milliseconds of a stall, those of a job.
import { createBullmqJobQueue } from '#src/jobs/bullmq-job-queue.ts';

const [url = '', keyPrefix = '', stallMs = '', jobMs = ''] = process.argv.slice(2);
const queue = createBullmqJobQueue({
  url,
  keyPrefix,
  stallMs: Number(stallMs),
  lanes: [{ lane: 'default', shards: 1 }],
  onError: (error) => process.stderr.write(`${error}\n`),
});
// The last slot is for another tenant than that of the first two jobs.
queue.take([{ lane: 'default', concurrency: 3 }], ({ call }) => {
  process.stdout.write(`${call}\n`);
  return new Promise((resolve) => {
    if (jobMs !== '') setTimeout(() => resolve({ kind: 'done' }), Number(jobMs));
  });
});
