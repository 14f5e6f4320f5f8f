import { findFreePort, startRedisServer } from '@recourse/test-support/redis-server.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { refuseFormerReplicas } from '#src/former-replicas.ts';
import { createRedisClient } from '#src/redis-client.ts';

const LEASE = 'recourse:{kept}:lease';

const REFUSAL =
  /^REDIS_URL: version 0\.1 used this Redis \d+ s ago, and must not share one with 0\.2\. Stop its callers, wait until none of its calls is pending, end its replicas and workers, and start 0\.2 a minute later; or use another Redis\. See docs\/versions\.md\.$/;

const startRedis = async () => {
  const server = await startRedisServer();
  onTestFinished(server.stop);
  const direct = new Redis(server.url);
  onTestFinished(() => direct.disconnect());
  return { url: server.url, direct };
};

/** What a service that starts with this Redis is told: null where it may. */
const look = async (url: string): Promise<string | null> => {
  const client = createRedisClient(url);
  onTestFinished(client.disconnect);
  client.onError(() => undefined);
  const looked = refuseFormerReplicas(client);
  client.connect();
  return looked.then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
};

test.each([
  ['a second', 1000, 'refused'],
  ['50 seconds', 50_000, 'refused'],
  ['a minute', 60_000, 'started'],
] as const)('a Redis that version 0.1 wrote to %s ago: %s ms, %s', async (_name, agoMs, expected) => {
  const { url, direct } = await startRedis();
  expect(await look(url)).toBeNull();
  // As account.lua of 0.1 writes it, which begins a lease of three seconds each second.
  await direct.hset(LEASE, 'holder', 'a-replica', 'until', String(Date.now() - agoMs + 3000));
  expect(await look(url)).toEqual(expected === 'started' ? null : expect.stringMatching(REFUSAL));
});

test('a Redis that is away, hides the key or has something else there keeps no service from starting', async () => {
  expect(await look(`redis://127.0.0.1:${await findFreePort()}`)).toBeNull();
  const { url, direct } = await startRedis();
  await direct.set(LEASE, 'text');
  expect(await look(url)).toBeNull();
  await direct.del(LEASE);
  await direct.hset(LEASE, 'until', String(Date.now()));
  await direct.acl('SETUSER', 'user', 'on', '>secret', '~recourse2:*', '+@all');
  expect(await look(url.replace('//', '//user:secret@'))).toBeNull();
});
