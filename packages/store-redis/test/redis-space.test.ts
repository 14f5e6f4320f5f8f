import { fillRedis } from '@recourse/test-support/fill-redis.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { createRedisClient } from '#src/redis-client.ts';
import { createRedisLook } from '#src/redis-space.ts';

const WAIT = { timeout: timeLimit(20_000), interval: 20 };
const MIB = 1024 * 1024;

/** A look at a Redis of its own, and a connection to it. */
const startLook = async (settings: readonly string[] = [], user = '') => {
  const server = await startRedisServer({ settings });
  onTestFinished(server.stop);
  const direct = new Redis(server.url);
  onTestFinished(() => direct.disconnect());
  const client = createRedisClient(server.url.replace('//', `//${user}`), 1000);
  onTestFinished(client.disconnect);
  client.onError(() => undefined);
  return { direct, client, look: createRedisLook(client, 64 * MIB) };
};

test('Redis is asked for its memory and what it does when that is full, once there is a connection', async () => {
  const { direct, client, look } = await startLook(['--maxmemory', '32mb']);
  expect(look()).toBeNull();
  client.connect();
  await expect.poll(client.isReady, WAIT).toBe(true);
  expect(await look()).toMatchObject({ max: 32 * MIB, servers: 1, policy: 'noeviction' });
  await fillRedis(direct, 0.71);
  expect((await look())?.used).toBeGreaterThan(0.7 * 32 * MIB);
});

test('a Redis without a limit is as large as the setting says, and one that does not tell its memory is no answer', async () => {
  const { direct, client, look } = await startLook(['--maxmemory-policy', 'allkeys-lru'], 'user:secret@');
  await direct.acl('SETUSER', 'user', 'on', '>secret', '~*', '+@all');
  client.connect();
  await expect.poll(client.isReady, WAIT).toBe(true);
  expect(await look()).toMatchObject({ max: 64 * MIB, policy: 'allkeys-lru' });
  await direct.acl('SETUSER', 'user', '-info');
  await expect(look()).rejects.toThrow('NOPERM');
});
