import { describe, expect, test } from 'vitest';
import { createStoreMemory } from '#src/memory/store-memory.ts';
import { createFallbackDeliveries } from '#src/sessions/deliveries/fallback-deliveries.ts';
import { createMemoryDeliveries } from '#src/sessions/deliveries/memory-deliveries.ts';
import { createRedisDeliveries } from '#src/sessions/deliveries/redis-deliveries.ts';
import { createStoreAvailability } from '#src/sessions/store-availability.ts';
import type { Delivery, DeliveryStore } from '#src/webhooks/delivery-store.ts';
import { roomyMemory } from '#test/support/roomy-memory.ts';
import { createManualClock, createStoreLog, toRedisClient, useRedis } from '#test/support/session-stores-under-test.ts';
import { createDelivery, LEASE_MS } from './deliveries-lab.ts';

const redis = useRedis();

/** A store, and a way to let time pass for an endpoint without waiting. */
type StoreUnderTest = { readonly store: DeliveryStore; readonly pass: (endpoint: string, ms: number) => Promise<void> };

const createInMemory = (): StoreUnderTest => {
  const clock = createManualClock();
  return {
    store: createMemoryDeliveries({ memory: roomyMemory(), now: clock.now, onEvicted: () => undefined }),
    pass: async (_endpoint, ms) => clock.advance(ms),
  };
};

const toKey = (endpoint: string, part: string): string => `recourse:{webhooks/${endpoint}}:${part}`;

/** The server's clock goes by itself: the times of the messages are moved instead. */
const pass = async (endpoint: string, ms: number): Promise<void> => {
  for (const id of await redis().zrange(toKey(endpoint, 'due'), '0', '-1'))
    await redis().call('ZINCRBY', toKey(endpoint, 'due'), String(-ms), id);
};

const createInRedis = (): StoreUnderTest => ({ store: createRedisDeliveries(toRedisClient(redis())), pass });

const createWithFallback = (): StoreUnderTest => {
  const { observer } = createStoreLog();
  const now = (): number => performance.now();
  return {
    store: createFallbackDeliveries({
      primary: createRedisDeliveries(toRedisClient(redis())),
      local: createMemoryDeliveries({ memory: roomyMemory(), now, onEvicted: () => undefined }),
      availability: createStoreAvailability({ observer, now, onRecovered: () => undefined }),
      onRefused: () => undefined,
    }),
    pass,
  };
};

describe.each([
  ['memory', createInMemory],
  ['Redis', createInRedis],
  ['Redis behind its fall-back', createWithFallback],
])('deliveries in %s', (_name, create) => {
  test('a message is due at once and comes back as it was kept', async () => {
    const { store } = create();
    const delivery = createDelivery();
    expect(await store.add(delivery)).toBe('kept');
    const claim = await store.claim(delivery.endpoint, 4, LEASE_MS);
    expect(claim.deliveries).toEqual([{ ...delivery, attempt: 1 }]);
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
    await passTime(delivery.endpoint, LEASE_MS + 1);
    expect((await store.claim(delivery.endpoint, 4, LEASE_MS)).deliveries).toEqual([{ ...delivery, attempt: 2 }]);
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
    const [claimed] = (await store.claim(delivery.endpoint, 1, LEASE_MS)).deliveries;
    if (claimed === undefined) throw new Error('Nothing was claimed.');
    await store.reschedule(claimed, 60_000);
    await passTime(delivery.endpoint, 50_000);
    expect((await store.claim(delivery.endpoint, 1, LEASE_MS)).deliveries).toEqual([]);
    await passTime(delivery.endpoint, 11_000);
    expect((await store.claim(delivery.endpoint, 1, LEASE_MS)).deliveries).toEqual([{ ...delivery, attempt: 2 }]);
  });

  test('a process that wakes up after its lease neither brings a message back nor moves that of another', async () => {
    const { store, pass: passTime } = create();
    const delivery = createDelivery();
    const { endpoint } = delivery;
    await store.add(delivery);
    const [late] = (await store.claim(endpoint, 1, LEASE_MS)).deliveries;
    if (late === undefined) throw new Error('Nothing was claimed.');
    await passTime(endpoint, LEASE_MS + 1);
    await store.claim(endpoint, 1, LEASE_MS);
    await store.reschedule(late, 0);
    expect((await store.claim(endpoint, 1, LEASE_MS)).deliveries).toEqual([]);
    await store.remove(delivery);
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

test('two replicas share messages, and no message goes to both', async () => {
  const [one, other] = [createInRedis().store, createInRedis().store];
  const { endpoint } = createDelivery();
  for (let count = 0; count < 40; count += 1) await one.add(createDelivery(endpoint));
  const claims = await Promise.all(
    Array.from({ length: 20 }, (_, count) => (count % 2 === 0 ? one : other).claim(endpoint, 4, LEASE_MS)),
  );
  const ids = claims.flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
  expect(ids).toHaveLength(40);
  expect(new Set(ids).size).toBe(40);
});

test('Redis holds two keys an endpoint with an end, in one slot, and nothing of a message that is delivered', async () => {
  const { store } = createInRedis();
  const delivery = createDelivery();
  await store.add(delivery);
  await store.claim(delivery.endpoint, 1, LEASE_MS);
  const pattern = toKey(delivery.endpoint, '*');
  const keys = (await redis().keys(pattern)).toSorted();
  expect(keys).toEqual([toKey(delivery.endpoint, 'due'), toKey(delivery.endpoint, 'kept')]);
  for (const key of keys) expect(await redis().pttl(key)).toBeGreaterThan(24 * 3_600_000);
  await store.remove(delivery);
  expect(await redis().keys(pattern)).toEqual([]);
  const once: Delivery = { ...createDelivery(delivery.endpoint), repeats: 'never' };
  await store.add(once);
  await store.remove(once);
  const onceKey = toKey(delivery.endpoint, `once:${once.id}`);
  expect(await redis().keys(pattern)).toEqual([onceKey]);
  expect(await redis().pttl(onceKey)).toBeGreaterThan(24 * 3_600_000);
});

test('an endpoint with too many messages takes no more, and a tenant with too many takes no room from others', async () => {
  const store = createRedisDeliveries(toRedisClient(redis()), { endpoint: 5, tenant: 2 });
  const { endpoint } = createDelivery();
  const add = (tenant: string) => store.add({ ...createDelivery(endpoint), tenant });
  const [first] = [createDelivery(endpoint)];
  expect(await store.add(first)).toBe('kept');
  expect([await add('acme'), await add('acme'), await add('other')]).toEqual(['kept', 'full', 'kept']);
  await store.remove(first);
  expect([await add('acme'), await add('acme')]).toEqual(['kept', 'full']);
  expect([await add('other'), await add('third'), await add('fourth')]).toEqual(['kept', 'kept', 'full']);
});

test('where this process has no room the oldest message of the tenant with most is given up, and is told of', async () => {
  const evicted: Delivery[] = [];
  const store = createMemoryDeliveries({
    // Of which webhooks have a hundredth.
    memory: createStoreMemory({ totalBytes: 1_000_000 }),
    now: () => 0,
    onEvicted: (delivery) => void evicted.push(delivery),
  });
  const { endpoint } = createDelivery();
  const quiet = { ...createDelivery(endpoint), tenant: 'quiet' };
  await store.add(quiet);
  const deliveries = Array.from({ length: 40 }, () => createDelivery(endpoint));
  for (const delivery of deliveries) await store.add(delivery);
  expect(evicted.length).toBeGreaterThan(5);
  expect(evicted).toEqual(deliveries.slice(0, evicted.length));
  expect(store.has(quiet)).toBe(true);
  expect((await store.claim(endpoint, 100, LEASE_MS)).waiting).toBe(41 - evicted.length);
});
