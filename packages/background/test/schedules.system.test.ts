import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { onTestFinished, test } from 'vitest';
import { checkSchedules } from './schedule-property.ts';

test(
  'many schedules in one process: every stream folds to the body, and every call ends once',
  async () => {
    await checkSchedules(null, 600);
  },
  timeLimit(240_000),
);

test(
  'many schedules on Redis, with a worker that is restarted',
  async () => {
    const redis = await startRedisServer();
    onTestFinished(redis.stop);
    await checkSchedules(redis.url, 60);
  },
  timeLimit(240_000),
);
