import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { onTestFinished, test } from 'vitest';
import { checkSchedules } from './schedule-property.ts';

test(
  'whatever is called, cancelled, left and taken up again: every stream folds to the body, and every call ends once',
  async () => {
    await checkSchedules(null, 60);
  },
  timeLimit(60_000),
);

test(
  'the same on Redis, with a worker that is restarted',
  async () => {
    const redis = await redisForTests();
    onTestFinished(redis.stop);
    await checkSchedules(redis.url, 6);
  },
  timeLimit(60_000),
);
