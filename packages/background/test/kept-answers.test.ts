import { freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const openDirect = () => {
  const direct = new Redis(redis.url);
  return Object.assign(direct, { [Symbol.asyncDispose]: async () => direct.disconnect() });
};

test.each(['with', 'without'])(
  'an answer 202 %s a key waits for a store that pauses: its calls are found again',
  async (key) => {
    await using direct = openDirect();
    const build = createHeldTool('build');
    const { service } = await startLab([build], { REDIS_URL: redis.url });
    const { begin, ask, finish } = createPendingClient(service.url);
    const headers: Record<string, string> = key === 'with' ? { 'idempotency-key': freshName() } : {};
    const asked = begin({ calls: [{ name: 'build', arguments: { only: freshName() } }] }, { wait: 1, headers });
    await build.begun();
    // Its second is over within the pause.
    await direct.client('PAUSE', 1200, 'ALL');
    const answer = await asked;
    expect(answer).toMatchObject({ status: 202, state: 'pending' });
    expect(answer.results[0]?.warnings ?? []).toEqual([]);
    expect(await ask(`/tool-calls/${answer.requestId}`)).toMatchObject({ status: 202, state: 'pending' });
    build.release();
    expect((await finish(answer.requestId)).results[0]).toMatchObject({ value: 'build done' });
  },
);
