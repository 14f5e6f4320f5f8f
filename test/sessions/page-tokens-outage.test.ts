import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createRedisClient } from '#src/sessions/redis-client.ts';
import { createRedisPageTokens } from '#src/sessions/redis-page-tokens.ts';
import { createStoreAvailability } from '#src/sessions/store-availability.ts';
import { createPageList } from '#test/support/describe-page-tokens.ts';
import { type RedisServer, startRedisServer } from '#test/support/redis-server.ts';
import { createStoreLog } from '#test/support/session-stores-under-test.ts';

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());

const PATIENCE = { timeout: 30_000 };

/** A replica of its own, with the client that the service uses. It waits longer: a busy machine is no outage. */
const startReplica = async (settings: { readonly ready: boolean } = { ready: true }) => {
  const client = createRedisClient(server.url, 1000);
  onTestFinished(client.disconnect);
  const log = createStoreLog();
  const refusals: unknown[] = [];
  const availability = createStoreAvailability({
    observer: log.observer,
    now: () => performance.now(),
    onRecovered: () => undefined,
    store: { watch: ({ lost, back }) => [client.onLost(lost), client.onReady(back)] },
  });
  client.onError(() => undefined);
  client.connect();
  if (settings.ready)
    await expect.poll(() => client.call('PING').catch((error: unknown) => error), PATIENCE).toBe('PONG');
  const store = createRedisPageTokens({
    client,
    availability,
    ttlMs: 60_000,
    now: () => performance.now(),
    onRefused: (error) => void refusals.push(error),
  });
  return { store, availability, client, refusals };
};

test(
  'while Redis is dead a page kept here is found here, and when it is back replicas share again',
  PATIENCE,
  async () => {
    const [one, other] = [await startReplica(), await startReplica()];
    const [before, during, after] = [createPageList(), createPageList(), createPageList()];
    await one.store.keep(before, 2, 'before');
    await server.kill();
    await expect.poll(() => one.availability.isUp() || other.availability.isUp(), PATIENCE).toBe(false);
    await one.store.keep(during, 2, 'during');
    expect(await one.store.find(before, 2)).toBe('before');
    expect(await one.store.find(during, 2)).toBe('during');
    expect(await other.store.find(during, 2)).toBeNull();
    await server.restart();
    await expect.poll(() => one.availability.isUp() && other.availability.isUp(), PATIENCE).toBe(true);
    // It is a new and empty server: what it never had is known to its own replica, what it has lost to none.
    expect([await one.store.find(during, 2), await other.store.find(during, 2)]).toEqual(['during', null]);
    expect([await one.store.find(before, 2), await other.store.find(before, 2)]).toEqual([null, null]);
    await one.store.keep(during, 2, 'during, again');
    expect(await other.store.find(during, 2)).toBe('during, again');
    await one.store.forget(during.session);
    expect([await one.store.find(during, 2), await other.store.find(during, 2)]).toEqual([null, null]);
    await one.store.keep(after, 2, 'after');
    expect(await other.store.find(after, 2)).toBe('after');
  },
);

test('with a Redis that was never there nothing rejects', PATIENCE, async () => {
  await server.kill();
  const { store } = await startReplica({ ready: false });
  const list = createPageList();
  await store.keep(list, 2, 'token');
  expect(await store.find(list, 2)).toBe('token');
  expect(await store.find(list, 3)).toBeNull();
  await store.forget(list.session);
  expect(await store.find(list, 2)).toBeNull();
  await server.restart();
});

test('a Redis that is stopped costs time-outs and no page', PATIENCE, async () => {
  const { store, availability } = await startReplica();
  const list = createPageList();
  await store.keep(list, 2, 'token');
  server.pause();
  onTestFinished(server.resume);
  expect(await store.find(list, 2)).toBe('token');
  expect(availability.isUp()).toBe(false);
  await store.keep(list, 3, 'three');
  expect(await store.find(list, 3)).toBe('three');
  server.resume();
});

test('a Redis that is full, or grants no right to pages, refuses them alone', PATIENCE, async () => {
  const { store, availability, client, refusals } = await startReplica();
  const list = createPageList();
  await client.call('CONFIG', 'SET', 'maxmemory', '1');
  await store.keep(list, 2, 'token');
  await client.call('CONFIG', 'SET', 'maxmemory', '0');
  expect(refusals.map(String)).toEqual([expect.stringContaining('OOM')]);
  expect(availability.isUp()).toBe(true);
  expect(await store.find(list, 2)).toBe('token');
});
