import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRedisClient, createRedisScript } from '@recourse/store-redis/redis-client';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const toFile = (name: string): URL => new URL(`../../packages/background/src/jobs/lua/${name}`, import.meta.url);
const INDEX = toFile('due-index.lua');
const WAIT = { timeout: timeLimit(20_000), interval: 20 };

const startLab = async (settings: readonly string[] = []) => {
  const server = await startRedisServer({ settings });
  onTestFinished(server.stop);
  const client = createRedisClient(server.url, 1000);
  onTestFinished(client.disconnect);
  client.onError(() => undefined);
  return { server, client };
};

const digestOf = (file: URL): string => createHash('sha1').update(readFileSync(file, 'utf8')).digest('hex');

test('a server knows a script before it is first run, also one that was made later, and again after a restart', async () => {
  const { server, client } = await startLab();
  createRedisScript(client, INDEX);
  client.connect();
  const isKnown = async (file: URL): Promise<unknown> => {
    const redis = await connectToRedis(server.url);
    const known = await redis.script('EXISTS', digestOf(file));
    redis.disconnect();
    return known;
  };
  await expect.poll(() => isKnown(INDEX), WAIT).toEqual([1]);
  const later = toFile('tenant-order.lua');
  expect(await isKnown(later)).toEqual([0]);
  createRedisScript(client, later);
  await expect.poll(() => isKnown(later), WAIT).toEqual([1]);
  await server.kill();
  await server.restart();
  await expect.poll(() => isKnown(INDEX).catch(() => null), WAIT).toEqual([1]);
});

test('a user that may load no script runs it all the same', async () => {
  const { server, client } = await startLab();
  const admin = await connectToRedis(server.url);
  onTestFinished(() => admin.disconnect());
  await admin.call('ACL', 'SETUSER', 'default', '-script');
  const run = createRedisScript(client, INDEX);
  const ready = new Promise<void>((resolve) => client.onReady(resolve));
  client.connect();
  await ready;
  const words = ['enter', '60000', '["tenant:call","holder"]', 'holder', '15000', '10', '10'];
  expect(await run(['{pending}:calls', '{pending}:holders'], words)).toBe('entered');
});
