import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { createRedisClient, createRedisScript } from '#src/sessions/redis-client.ts';
import { startRedisServer } from '#test/support/redis-server.ts';
import { connectToRedis } from '#test/support/session-stores-under-test.ts';
import { timeLimit } from '#test/support/time-limit.ts';

const LUA = new URL('../../src/jobs/lua/', import.meta.url);
const FILES = ['pending-index.lua'];
const WAIT = { timeout: timeLimit(20_000), interval: 20 };

const startLab = async (settings: readonly string[] = []) => {
  const server = await startRedisServer({ settings });
  onTestFinished(server.stop);
  const client = createRedisClient(server.url, 1000);
  onTestFinished(client.disconnect);
  client.onError(() => undefined);
  return { server, client };
};

const digestOf = (files: readonly string[]): string =>
  createHash('sha1')
    .update(files.map((file) => readFileSync(new URL(file, LUA), 'utf8')).join('\n'))
    .digest('hex');

test('a server knows a script before it is first run, also one that was made later, and again after a restart', async () => {
  const { server, client } = await startLab();
  createRedisScript(client, LUA, FILES);
  client.connect();
  const isKnown = async (files: readonly string[]): Promise<unknown> => {
    const redis = await connectToRedis(server.url);
    const known = await redis.script('EXISTS', digestOf(files));
    redis.disconnect();
    return known;
  };
  await expect.poll(() => isKnown(FILES), WAIT).toEqual([1]);
  const later = ['turns.lua', 'pending-index.lua'];
  expect(await isKnown(later)).toEqual([0]);
  createRedisScript(client, LUA, later);
  await expect.poll(() => isKnown(later), WAIT).toEqual([1]);
  await server.kill();
  await server.restart();
  await expect.poll(() => isKnown(FILES).catch(() => null), WAIT).toEqual([1]);
});

test('a user that may load no script runs it all the same', async () => {
  const { server, client } = await startLab();
  const admin = await connectToRedis(server.url);
  onTestFinished(() => admin.disconnect());
  await admin.call('ACL', 'SETUSER', 'default', '-script');
  const run = createRedisScript(client, LUA, FILES);
  const ready = new Promise<void>((resolve) => client.onReady(resolve));
  client.connect();
  await ready;
  const words = ['enter', '60000', '["tenant:call","holder"]', 'holder', '15000', '', ''];
  expect(await run(['{pending}:calls', '{pending}:holders'], words)).toBe('entered');
});
