import { createActor, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

test('to read a long journal takes the store from nobody: budgets of others are still counted in Redis', async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const lab = await startLab([createActor('look')], {
    REDIS_URL: redis.url,
    SESSION_JOURNAL: '10000',
    MAX_BATCH_CALLS: '500',
  });
  const id = freshName();
  for (let batch = 0; batch < 20; batch += 1) {
    const calls = Array.from({ length: 500 }, (_, n) => ({
      id: 'x'.repeat(128),
      name: 'look',
      arguments: { batch, n, text: 'y'.repeat(150) },
    }));
    await lab.post({ session_id: id, calls });
  }
  const modeOf = async () => {
    const { results } = await lab.post({ session_id: freshName(), calls: [{ name: 'no such tool' }] });
    return results[0]?.retry?.mode;
  };
  await expect.poll(modeOf, { timeout: timeLimit(15_000) }).toBe('redis');
  const { calls } = await lab.session(id);
  expect(await modeOf()).toBe('redis');
  expect(calls.length).toBeGreaterThan(9000);
});
