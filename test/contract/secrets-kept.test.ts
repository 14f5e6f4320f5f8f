import { createActor, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { fail, fill, SECRET } from './secrets-lab.ts';

test('what a call comes to after its answer is kept without secrets, registered or of a shape', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const late = createActor('late', { effects: 'write', timeoutMs: 50 }, () =>
    promise.then(() => fail(`${SECRET} and https://bob:hunter2@db.example.com/`, { hint: `Bearer ${fill(20)}` })),
  );
  const { post } = await startLab([late], { CANARY_TOKEN: SECRET });
  const calls = [{ name: 'late' }];
  await post(calls, { key: 'late' });
  resolve();
  await expect
    .poll(async () => (await post(calls, { key: 'late' })).results[0], { timeout: timeLimit(15_000) })
    .toMatchObject({
      message: 'Error: [redacted] and https://[redacted]@db.example.com/. Bearer [redacted]',
      error: { hint: 'Bearer [redacted]' },
    });
});

test('what was kept by a service that did not know of a secret is not shown by one that does', async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const tell = createActor('tell', {}, () => ({ text: SECRET }));
  const before = await startLab([tell], { REDIS_URL: redis.url });
  const key = freshName();
  const first = await before.post([{ name: 'tell' }], { key });
  expect(first.results[0]?.value).toEqual({ text: SECRET });
  const after = await startLab([tell], { REDIS_URL: redis.url, CANARY_TOKEN: SECRET });
  expect((await after.post([{ name: 'tell' }], { key })).results[0]).toMatchObject({ value: { text: '[redacted]' } });
  expect((await after.lost(first.requestId)).results[0]).toMatchObject({ value: { text: '[redacted]' } });
});
