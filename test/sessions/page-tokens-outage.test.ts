import { createRedisClient } from '@recourse/store-redis/redis-client';
import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import { type RedisServer, startRedisServer } from '@recourse/test-support/redis-server.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { createGuarded } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createRecordPageTokens } from '#src/sessions/record-page-tokens.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import { createPageList } from '#test/sessions/promises/describe-page-tokens.ts';

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
  const localRecords = createMemoryRecordStore({ memory: roomyMemory(), now: () => performance.now() });
  const records = createRedisRecordStore({ client, cacheBytes: 1_000_000, timeouts: { short: 1000, long: 1000 } });
  const guarded = createGuarded(records, { connection: client });
  const { availability, log } = guarded;
  availability.onRecovered(localRecords.clear);
  client.onError(() => undefined);
  const store = createRecordPageTokens({ store: guarded.records, local: localRecords, ttlMs: 60_000 });
  client.connect();
  if (settings.ready)
    await expect.poll(() => client.call('PING').catch((error: unknown) => error), PATIENCE).toBe('PONG');
  return { store, availability, client, log };
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
  expect(await store.find(list, 2)).toBe('token');
  for (const token of ['two', 'three']) await store.keep(list, 3, token);
  expect(availability.isUp()).toBe(false);
  expect(await store.find(list, 3)).toBe('three');
  server.resume();
});

test(
  'a key that is no record is none: its page is kept in its place, and that takes the store away from nobody',
  PATIENCE,
  async () => {
    const { store, availability, client, log } = await startReplica();
    const [damaged, whole] = [createPageList(), createPageList()];
    await client.call('SET', `recourse2:{${damaged.session}}:pages`, 'a text');
    await store.keep(damaged, 2, 'token');
    expect([await store.find(damaged, 2), await store.find(damaged, 3)]).toEqual(['token', null]);
    expect(log.failed).toEqual([]);
    expect(availability.isUp()).toBe(true);
    await store.keep(whole, 2, 'token');
    expect(await client.call('EXISTS', `recourse2:{${whole.session}}:pages`)).toBe(1);
  },
);
