import { createRedisClient } from '@recourse/store-redis/redis-client';
import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { createGuarded } from '@recourse/test-support/session-stores-under-test.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { createMemoryRecordStore } from 'recourse-server/internal/store/memory-record-store.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createFallbackDeliveries } from '#src/deliveries/fallback-deliveries.ts';
import { RecordDeliveries } from '#src/deliveries/record-deliveries.ts';
import { createRedisDeliveryIndex } from '#src/jobs/redis-due-index.ts';
import { createDelivery, LEASE_MS, toClaimed, toOnly } from './deliveries-lab.ts';

/** The fall-back over a Redis of the test's own, by the client that the service has, through a network that can break. */
const createOutageLab = async () => {
  const server = await startRedisServer();
  const network = await startTcpProxy({ to: server.port });
  const client = createRedisClient(`redis://127.0.0.1:${network.port}`);
  client.onError(() => undefined);
  onTestFinished(async () => {
    client.disconnect();
    network.close();
    await server.stop();
  });
  const redis = createRedisRecordStore({ client, cacheBytes: 1_000_000, timeouts: { short: 50, long: 1000 } });
  const { records, availability } = createGuarded(redis, { connection: client });
  const primary = new RecordDeliveries({
    store: records,
    survives: 'process',
    openIndex: createRedisDeliveryIndex(client),
  });
  const store = createFallbackDeliveries({
    primary,
    memory: createMemoryRecordStore({ memory: roomyMemory(), now: () => performance.now() }),
    onEvicted: () => undefined,
  });
  client.connect();
  await vi.waitFor(() => expect(client.isReady()).toBe(true), { timeout: timeLimit(20_000) });
  return { server, network, store, primary, isUp: availability.isUp };
};

test('while Redis is away messages are kept and delivered here; when it is back they are handed over at the end', async () => {
  const { server, store, primary, isUp } = await createOutageLab();
  const { endpoint } = createDelivery();
  await server.kill();
  const [sent, waiting] = [createDelivery(endpoint), createDelivery(endpoint)];
  expect(await store.add(sent)).toBe('kept');
  expect(await store.add(waiting)).toBe('kept');
  const claimed = toOnly(await store.claim(endpoint, 1, LEASE_MS));
  expect(claimed).toEqual(toClaimed(sent, 1));
  await store.remove(claimed);
  expect((await store.claim(endpoint, 0, LEASE_MS)).waiting).toBe(1);
  await server.restart();
  await vi.waitFor(() => expect(isUp()).toBe(true), { timeout: timeLimit(20_000) });
  expect(await store.close()).toEqual([]);
  expect((await primary.claim(endpoint, 4, LEASE_MS)).deliveries).toEqual([toClaimed(waiting, 1)]);
});

test('a message that was delivered while Redis was out of reach is not sent again', async () => {
  const { network, store, isUp } = await createOutageLab();
  const delivery = createDelivery();
  const { endpoint } = delivery;
  await store.add(delivery);
  // A lease that is over when Redis is back.
  const claimed = toOnly(await store.claim(endpoint, 1, 1));
  network.drop();
  await vi.waitFor(
    async () => {
      await store.remove(claimed);
      expect(isUp()).toBe(false);
    },
    { timeout: timeLimit(20_000) },
  );
  network.deliver();
  await vi.waitFor(
    async () => {
      const { deliveries, waiting, nextMs } = await store.claim(endpoint, 1, LEASE_MS);
      expect(deliveries).toEqual([]);
      expect([waiting, nextMs]).toEqual([0, null]);
      expect(isUp()).toBe(true);
    },
    { timeout: timeLimit(20_000), interval: 100 },
  );
  expect(await store.add(createDelivery())).toBe('kept');
});

test('where Redis is away until the end, what is lost is told', async () => {
  const { server, store } = await createOutageLab();
  await server.kill();
  const delivery = createDelivery();
  await store.add(delivery);
  expect(await store.close()).toMatchObject([delivery]);
});
