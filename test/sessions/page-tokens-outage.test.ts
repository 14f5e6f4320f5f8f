import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createRedisClient } from '#src/sessions/redis-client.ts';
import { createRedisPageTokens } from '#src/sessions/redis-page-tokens.ts';
import { createStoreAvailability } from '#src/sessions/store-availability.ts';
import type { PageList } from '#src/tools/page-tokens.ts';
import { createPageList } from '#test/sessions/promises/describe-page-tokens.ts';
import { type RedisServer, startRedisServer } from '#test/support/redis-server.ts';
import { roomyMemory } from '#test/support/roomy-memory.ts';
import { createStoreLog } from '#test/support/session-stores-under-test.ts';
import { timeLimit } from '#test/support/time-limit.ts';

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());

const PATIENCE = { timeout: timeLimit(30_000) };

/** A replica of its own, with the client that the service uses. It waits longer: a busy machine is no outage. */
const startReplica = async (settings: { readonly ready: boolean } = { ready: true }) => {
  const client = createRedisClient(server.url, 1000);
  onTestFinished(client.disconnect);
  const log = createStoreLog();
  const refusals: unknown[] = [];
  const availability = createStoreAvailability({
    observer: log.observer,
    now: () => performance.now(),
    onRecovered: () => store.clear(),
    store: { watch: ({ lost, back }) => [client.onLost(lost), client.onReady(back)] },
  });
  client.onError(() => undefined);
  const store = createRedisPageTokens({
    memory: roomyMemory(),
    client,
    availability,
    ttlMs: 60_000,
    now: () => performance.now(),
    onRefused: (error) => void refusals.push(error),
  });
  client.connect();
  if (settings.ready)
    await expect.poll(() => client.call('PING').catch((error: unknown) => error), PATIENCE).toBe('PONG');
  return { store, availability, client, refusals };
};

/** A server that was only slow is found out by whoever writes. */
const whenBack = ({ store, availability }: Awaited<ReturnType<typeof startReplica>>): Promise<void> =>
  expect
    .poll(async () => {
      await store.keep(createPageList(), 2, 'probe');
      return availability.isUp();
    }, PATIENCE)
    .toBe(true);

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
    // It is a new and empty server: what it never had and what it has lost is known to none.
    expect([await one.store.find(during, 2), await other.store.find(during, 2)]).toEqual([null, null]);
    expect([await one.store.find(before, 2), await other.store.find(before, 2)]).toEqual([null, null]);
    await one.store.keep(during, 2, 'during, again');
    expect(await other.store.find(during, 2)).toBe('during, again');
    await one.store.forget(during.session);
    expect([await one.store.find(during, 2), await other.store.find(during, 2)]).toEqual([null, null]);
    await one.store.keep(after, 2, 'after');
    expect(await other.store.find(after, 2)).toBe('after');
  },
);

test(
  'a page that was kept while Redis was away outlives no end of its session, neither then nor in the next outage',
  PATIENCE,
  async () => {
    const [one, other] = [await startReplica(), await startReplica()];
    const [before, during] = [createPageList(), createPageList()];
    await one.store.keep(before, 2, 'before');
    server.pause();
    onTestFinished(server.resume);
    await one.store.keep(during, 2, 'during');
    await one.store.keep(during, 2, 'during');
    expect([await one.store.find(before, 2), await one.store.find(during, 2)]).toEqual(['before', 'during']);
    server.resume();
    await whenBack(one);
    expect(await one.store.find(before, 2)).toBe('before');
    for (const { session } of [before, during]) await other.store.forget(session);
    server.pause();
    for (const token of ['another', 'one more']) await one.store.keep(createPageList(), 2, token);
    expect(one.availability.isUp()).toBe(false);
    expect([await one.store.find(before, 2), await one.store.find(during, 2)]).toEqual([null, null]);
    server.resume();
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
  expect([await store.find(list, 2), await store.find(list, 2)]).toEqual(['token', 'token']);
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

/** Keeps a page while Redis is full. */
const keepRefused = async ({ client, store }: Awaited<ReturnType<typeof startReplica>>, list: PageList) => {
  await client.call('CONFIG', 'SET', 'maxmemory', '1');
  await store.keep(list, 2, 'token');
  await client.call('CONFIG', 'SET', 'maxmemory', '0');
};

const toSessionKey = ({ session }: PageList): string => `recourse:{${session}}`;

test('a page that Redis refused ends with its session, also where that ends at another replica', PATIENCE, async () => {
  const [one, other] = [await startReplica(), await startReplica()];
  const list = createPageList();
  await one.client.call('HSET', toSessionKey(list), 'born', 'batch-1');
  await keepRefused(one, list);
  expect([await one.store.find(list, 2), await other.store.find(list, 2)]).toEqual(['token', null]);
  await other.store.forget(list.session);
  await other.client.call('DEL', toSessionKey(list));
  expect(await one.store.find(list, 2)).toBeNull();
  await other.client.call('HSET', toSessionKey(list), 'born', 'batch-2');
  expect(await one.store.find(list, 2)).toBeNull();
  await keepRefused(one, list);
  expect(await one.store.find(list, 2)).toBe('token');
  await one.store.forget(list.session);
  expect(await one.store.find(list, 2)).toBeNull();
});

test('of two tokens of a page the later one counts, also where Redis has refused it', PATIENCE, async () => {
  const replica = await startReplica();
  const list = createPageList();
  await replica.store.keep(list, 2, 'earlier');
  await keepRefused(replica, list);
  expect(await replica.store.find(list, 2)).toBe('token');
});

test('a page that Redis refused and takes later is known to Redis alone', PATIENCE, async () => {
  const { store, client, ...replica } = await startReplica();
  const list = createPageList();
  await keepRefused({ store, client, ...replica }, list);
  await store.keep(list, 2, 'taken');
  expect(await store.find(list, 2)).toBe('taken');
  await client.call('DEL', `${toSessionKey(list)}:pages`);
  expect(await store.find(list, 2)).toBeNull();
});

test('a page that Redis refused is dropped when Redis has been away, as all are', PATIENCE, async () => {
  const replica = await startReplica();
  const list = createPageList();
  await keepRefused(replica, list);
  server.pause();
  onTestFinished(server.resume);
  expect(await replica.store.find(list, 2)).toBe('token');
  server.resume();
  await whenBack(replica);
  expect(await replica.store.find(list, 2)).toBeNull();
});
