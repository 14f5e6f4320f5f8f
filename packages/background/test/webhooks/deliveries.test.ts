import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteRecordStore } from '@recourse/store-sqlite/sqlite-record-store';
import {
  openMemoryRecords,
  openRedisRecords,
  openSqliteRecords,
} from '@recourse/test-support/record-stores-under-test.ts';
import { createManualClock, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { createPlainSpace } from '@recourse/test-support/space-lab.ts';
import { createStoreMemory } from 'recourse-server/internal/memory/store-memory.ts';
import { createMemoryRecordStore } from 'recourse-server/internal/store/memory-record-store.ts';
import type { RecordStore } from 'recourse-server/internal/store/record-store.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFallbackDeliveries } from '#src/deliveries/fallback-deliveries.ts';
import { RecordDeliveries } from '#src/deliveries/record-deliveries.ts';
import type { Delivery, DeliveryStore } from '#src/webhooks/delivery-store.ts';
import { ageIndexes, createDelivery, indexesIn, LEASE_MS, toClaimed, toOnly } from './deliveries-lab.ts';

const redis = useRedis();

/** A store, and a way to let time pass without waiting. */
type StoreUnderTest = { readonly store: DeliveryStore; readonly pass: (ms: number) => void | Promise<void> };

const createOn = (store: RecordStore): DeliveryStore => new RecordDeliveries({ store, survives: 'process' });
const createOnRedis = (store: RecordStore): DeliveryStore =>
  new RecordDeliveries({ store, survives: 'process', openIndex: indexesIn(redis()) });
const openReplicas = (count: number) => {
  const { stores, pass } = openRedisRecords(Array.from({ length: count }, () => redis()));
  const age = async (ms: number): Promise<void> => {
    pass(ms);
    await ageIndexes(redis(), ms);
  };
  return { replicas: stores.map(createOnRedis), pass: age };
};

const createInMemory = (): StoreUnderTest => {
  const { store, pass } = openMemoryRecords();
  return { store: createOn(store), pass };
};

const createInSqlite = (): StoreUnderTest => {
  const { store, pass } = openSqliteRecords();
  return { store: createOn(store), pass };
};

/** Two replicas. */
const createPair = () => {
  const { replicas, pass } = openReplicas(2);
  const [one, other] = replicas;
  if (one === undefined || other === undefined) throw new Error('There are two.');
  return { one, other, pass };
};

const createInRedis = (): StoreUnderTest => {
  const { one, pass } = createPair();
  return { store: one, pass };
};

const createWithFallback = (): StoreUnderTest => {
  const { one, pass } = createPair();
  return {
    store: createFallbackDeliveries({
      primary: one,
      memory: openMemoryRecords().store,
      onEvicted: () => undefined,
    }),
    pass,
  };
};

describe.each([
  ['memory', createInMemory],
  ['SQLite', createInSqlite],
  ['Redis', createInRedis],
  ['Redis behind its fall-back', createWithFallback],
])('deliveries in %s', (_name, create) => {
  test('a message is due at once and comes back as it was kept', async () => {
    const { store } = create();
    const delivery = createDelivery();
    expect(await store.add(delivery)).toBe('kept');
    const claim = await store.claim(delivery.endpoint, 4, LEASE_MS);
    expect(claim.deliveries).toEqual([toClaimed(delivery, 1)]);
    expect(claim.waiting).toBe(1);
    expect(claim.disabled).toBeNull();
  });

  test('a claimed message is no one else’s until its lease is over; then the attempt counts', async () => {
    const { store, pass: passTime } = create();
    const delivery = createDelivery();
    await store.add(delivery);
    await store.claim(delivery.endpoint, 4, LEASE_MS);
    const early = await store.claim(delivery.endpoint, 4, LEASE_MS);
    expect(early.deliveries).toEqual([]);
    expect(early.nextMs).toBeGreaterThan(LEASE_MS / 2);
    expect(early.nextMs).toBeLessThanOrEqual(LEASE_MS);
    await passTime(LEASE_MS + 1);
    expect((await store.claim(delivery.endpoint, 4, LEASE_MS)).deliveries).toEqual([toClaimed(delivery, 2)]);
  });

  test('the same id again changes nothing', async () => {
    const { store } = create();
    const delivery = createDelivery();
    await store.add(delivery);
    await store.claim(delivery.endpoint, 4, LEASE_MS);
    await store.add({ ...delivery, body: '{}' });
    const { deliveries, waiting } = await store.claim(delivery.endpoint, 4, LEASE_MS);
    expect([deliveries, waiting]).toEqual([[], 1]);
  });

  test('of a message that comes but once no second one is kept, also when the first is delivered', async () => {
    const { store } = create();
    const delivery: Delivery = { ...createDelivery(), repeats: 'never' };
    const both = await Promise.all([store.add(delivery), store.add({ ...delivery, body: '{}' })]);
    expect(both).toEqual(['kept', 'kept']);
    const { deliveries, waiting } = await store.claim(delivery.endpoint, 4, LEASE_MS);
    expect([deliveries.map(({ id, body }) => [id, body]), waiting]).toEqual([[[delivery.id, delivery.body]], 1]);
    for (const claimed of deliveries) await store.remove(claimed);
    expect(await store.add(delivery)).toBe('kept');
    expect(await store.claim(delivery.endpoint, 4, LEASE_MS)).toMatchObject({ deliveries: [], waiting: 0 });
    const other = { ...delivery, id: createDelivery().id };
    await store.add(other);
    expect((await store.claim(delivery.endpoint, 4, LEASE_MS)).deliveries.map(({ id }) => id)).toEqual([other.id]);
  });

  test('at most as many as are asked for, and of one endpoint alone', async () => {
    const { store } = create();
    const { endpoint } = createDelivery();
    for (let count = 0; count < 5; count += 1) await store.add(createDelivery(endpoint));
    const other = createDelivery();
    await store.add(other);
    const claim = await store.claim(endpoint, 3, LEASE_MS);
    expect([claim.deliveries.length, claim.waiting]).toEqual([3, 5]);
    expect((await store.claim(endpoint, 3, LEASE_MS)).deliveries).toHaveLength(2);
    expect((await store.claim(other.endpoint, 3, LEASE_MS)).deliveries.map(({ id }) => id)).toEqual([other.id]);
  });

  test('a rescheduled message is due after its delay', async () => {
    const { store, pass: passTime } = create();
    const delivery = createDelivery();
    await store.add(delivery);
    const claimed = toOnly(await store.claim(delivery.endpoint, 1, LEASE_MS));
    await store.reschedule(claimed, 60_000);
    await passTime(50_000);
    expect((await store.claim(delivery.endpoint, 1, LEASE_MS)).deliveries).toEqual([]);
    await passTime(11_000);
    expect((await store.claim(delivery.endpoint, 1, LEASE_MS)).deliveries).toEqual([toClaimed(delivery, 2)]);
  });

  test('a process that wakes up after its lease neither brings a message back nor moves that of another', async () => {
    const { store, pass: passTime } = create();
    const delivery = createDelivery();
    const { endpoint } = delivery;
    await store.add(delivery);
    const late = toOnly(await store.claim(endpoint, 1, LEASE_MS));
    await passTime(LEASE_MS + 1);
    await store.claim(endpoint, 1, LEASE_MS);
    await store.reschedule(late, 0);
    expect((await store.claim(endpoint, 1, LEASE_MS)).deliveries).toEqual([]);
    await store.remove(late);
    await store.reschedule(late, 0);
    const { deliveries, waiting, nextMs } = await store.claim(endpoint, 1, LEASE_MS);
    expect([deliveries, waiting, nextMs]).toEqual([[], 0, null]);
  });

  test('a disabled version is told with every claim', async () => {
    const { store } = create();
    const { endpoint } = createDelivery();
    await store.disable(endpoint, 'one');
    expect((await store.claim(endpoint, 1, LEASE_MS)).disabled).toBe('one');
    await store.disable(endpoint, 'two');
    expect((await store.claim(endpoint, 1, LEASE_MS)).disabled).toBe('two');
  });
});

test('of a message that two replicas keep, each in the middle of the other’s steps, one is delivered', async () => {
  const { one, other } = createPair();
  const delivery: Delivery = { ...createDelivery(), repeats: 'never' };
  expect(await Promise.all([one.add(delivery), other.add({ ...delivery, body: '{}' })])).toEqual(['kept', 'kept']);
  const claims = await Promise.all([one, other].map((store) => store.claim(delivery.endpoint, 4, LEASE_MS)));
  const claimed = claims.flatMap(({ deliveries }) => deliveries);
  expect(claimed).toHaveLength(1);
  for (const message of claimed) await one.remove(message);
  expect(await other.add(delivery)).toBe('kept');
  expect(await other.claim(delivery.endpoint, 4, LEASE_MS)).toMatchObject({ deliveries: [], waiting: 0 });
});

test('messages of a replica that died are delivered by the others, and none by two', async () => {
  const { replicas, pass } = openReplicas(3);
  const [dead, ...living] = replicas;
  const { endpoint } = createDelivery();
  for (let count = 0; count < 40; count += 1) await dead?.add(createDelivery(endpoint));
  expect((await dead?.claim(endpoint, 4, LEASE_MS))?.deliveries).toHaveLength(4);
  const claimAll = async (): Promise<string[]> => {
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, count) => living[count % 2]?.claim(endpoint, 4, LEASE_MS)),
    );
    return claims.flatMap((claim) => claim?.deliveries.map(({ id }) => id) ?? []);
  };
  const ids = await claimAll();
  expect(ids).toHaveLength(36);
  await pass(LEASE_MS + 1);
  const again = await claimAll();
  expect(new Set([...ids, ...again]).size).toBe(40);
});

test('Redis holds a message and its place with an end, and nothing of one that is delivered', async () => {
  const { store } = createInRedis();
  const delivery = createDelivery();
  const { endpoint, id } = delivery;
  const keysOf = async () => (await redis().keys(`recourse2:{*${endpoint}*`)).toSorted();
  await store.add(delivery);
  const claimed = toOnly(await store.claim(endpoint, 1, LEASE_MS));
  const keys = await keysOf();
  const indexKeys = [`recourse2:{webhooks:${endpoint}}:due`, `recourse2:{webhooks:${endpoint}}:tenants`];
  expect(keys).toEqual([...indexKeys, `recourse2:{acme:${endpoint}/${id}}:message`].toSorted());
  for (const key of keys) expect(await redis().pttl(key)).toBeGreaterThan(24 * 3_600_000);
  await store.remove(claimed);
  expect(await keysOf()).toEqual([]);
  const once: Delivery = { ...createDelivery(endpoint), repeats: 'never' };
  await store.add(once);
  await store.remove(toOnly(await store.claim(endpoint, 1, LEASE_MS)));
  const onceKey = `recourse2:{acme:${endpoint}/${once.id}}:message`;
  expect(await keysOf()).toEqual([onceKey]);
  expect(await redis().pttl(onceKey)).toBeGreaterThan(24 * 3_600_000);
});

test.each([
  ['a text', 'x'],
  ['half a head', '17 m'],
  ['nothing', ''],
])('a message that is damaged to %s is dropped, and the others are delivered', async (_what, damage) => {
  const { store, pass } = createInRedis();
  const { endpoint } = createDelivery();
  const [damaged, whole] = [createDelivery(endpoint), createDelivery(endpoint)];
  for (const delivery of [damaged, whole]) await store.add(delivery);
  await redis().hset(`recourse2:{acme:${endpoint}/${damaged.id}}:message`, { h: damage, v: 'another writer' });
  const claim = await store.claim(endpoint, 4, LEASE_MS);
  expect(claim).toMatchObject({ deliveries: [{ id: whole.id }], waiting: 1 });
  await pass(LEASE_MS + 1);
  expect(await store.claim(endpoint, 4, LEASE_MS)).toMatchObject({ deliveries: [{ id: whole.id }], waiting: 1 });
});

test.each([['memory'], ['SQLite'], ['Redis']] as const)(
  'an endpoint with too many messages takes no more, and a tenant with too many takes no room from others: %s',
  async (name) => {
    const records = { memory: openMemoryRecords, SQLite: openSqliteRecords };
    const store = name === 'Redis' ? openRedisRecords([redis()]).stores[0] : records[name]().store;
    if (store === undefined) throw new Error('There is one.');
    const index = name === 'Redis' ? { openIndex: indexesIn(redis()) } : {};
    const mostWaiting = { ofAll: 5, ofHolder: 2 };
    const deliveries = new RecordDeliveries({ store, survives: 'process', mostWaiting, ...index });
    const { endpoint } = createDelivery();
    const add = (tenant: string) => deliveries.add({ ...createDelivery(endpoint), tenant });
    expect(await add('acme')).toBe('kept');
    const first = toOnly(await deliveries.claim(endpoint, 1, LEASE_MS));
    expect([await add('acme'), await add('acme'), await add('other')]).toEqual(['kept', 'full', 'kept']);
    await deliveries.remove(first);
    expect([await add('acme'), await add('acme')]).toEqual(['kept', 'full']);
    expect([await add('other'), await add('third'), await add('fourth')]).toEqual(['kept', 'kept', 'full']);
  },
);

test('a store that may keep no messages takes none', async () => {
  const { store } = openMemoryRecords();
  const space = createPlainSpace(() => false);
  const deliveries = new RecordDeliveries({ store, survives: 'process', space });
  const delivery = createDelivery();
  expect(await deliveries.add(delivery)).toBe('no_room');
  expect((await deliveries.claim(delivery.endpoint, 4, LEASE_MS)).waiting).toBe(0);
});

test('a message takes room until it is delivered, once however often it is added, and none where it is not kept', async () => {
  const { store } = openMemoryRecords();
  const space = createPlainSpace();
  const mostWaiting = { ofAll: 1, ofHolder: 1 };
  const deliveries = new RecordDeliveries({ store, survives: 'process', space, mostWaiting });
  const delivery = { ...createDelivery(), repeats: 'never' } as const;
  expect(await deliveries.add(delivery)).toBe('kept');
  const taken = space.kept();
  expect(taken).toBeGreaterThan(delivery.body.length);
  expect([await deliveries.add(delivery), await deliveries.add(createDelivery(delivery.endpoint))]).toEqual([
    'kept',
    'full',
  ]);
  expect(space.kept()).toBe(taken);
  const claimed = toOnly(await deliveries.claim(delivery.endpoint, 1, LEASE_MS));
  await deliveries.remove(claimed);
  await deliveries.remove(claimed);
  expect(await deliveries.add(delivery)).toBe('kept');
  expect(space.kept()).toBe(0);
});

test('a tenant that keeps its part of the store is told from a store that is nearly full', async () => {
  const { store } = openMemoryRecords();
  const space = { ...createPlainSpace(), take: () => ({ of: 'tenant', limit: 1 }) as const };
  const deliveries = new RecordDeliveries({ store, survives: 'process', space });
  expect(await deliveries.add(createDelivery())).toBe('no_part');
});

test('where this process has no room the oldest message of the tenant with most is given up, and is told of', async () => {
  const evicted: Delivery[] = [];
  // Of which webhooks have a hundredth.
  const memory = createStoreMemory({ totalBytes: 1_000_000 });
  const store = new RecordDeliveries({
    store: createMemoryRecordStore({ memory, now: () => 0 }),
    survives: 'nothing',
    onEvicted: (delivery) => void evicted.push(delivery),
  });
  const { endpoint } = createDelivery();
  const quiet = { ...createDelivery(endpoint), tenant: 'quiet' };
  await store.add(quiet);
  const deliveries = Array.from({ length: 40 }, () => createDelivery(endpoint));
  for (const delivery of deliveries) await store.add(delivery);
  expect(evicted.length).toBeGreaterThan(5);
  expect(evicted).toMatchObject(deliveries.slice(0, evicted.length));
  expect((await store.claim(endpoint, 100, LEASE_MS)).waiting).toBe(41 - evicted.length);
  expect(await store.close()).toMatchObject([quiet, ...deliveries.slice(evicted.length)]);
});

test('messages in a file are found by the next process, with the attempts that have begun', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'recourse-deliveries-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const clock = createManualClock();
  const start = () => {
    const path = join(folder, 'store.db');
    const onFailed = (error: unknown): void => {
      throw error;
    };
    const options = { path, durable: 'process', cacheBytes: 1_000_000, now: clock.now, onFailed } as const;
    const store = new SqliteRecordStore(options);
    return { store, deliveries: new RecordDeliveries({ store, survives: 'process' }) };
  };
  const { endpoint } = createDelivery();
  const [claimed, waiting] = [createDelivery(endpoint), createDelivery(endpoint)];
  const first = start();
  await first.deliveries.add(claimed);
  await first.deliveries.claim(endpoint, 1, LEASE_MS);
  await first.deliveries.add(waiting);
  // It died: nobody has closed the messages.
  first.store.close();
  const { store, deliveries } = start();
  await deliveries.restore(store.keys('message'));
  onTestFinished(() => store.close());
  expect((await deliveries.claim(endpoint, 4, LEASE_MS)).deliveries).toEqual([toClaimed(waiting, 1)]);
  clock.advance(LEASE_MS + 1);
  const { deliveries: due } = await deliveries.claim(endpoint, 4, LEASE_MS);
  expect(due.map(({ id, attempt }) => [id, attempt]).toSorted()).toEqual(
    [
      [claimed.id, 2],
      [waiting.id, 2],
    ].toSorted(),
  );
});
