import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { Delivery, DeliveryStore } from './webhooks/delivery-store.ts';

/** Opens what keeps messages for endpoints; while the store is away, they are in memory. */
export const openDeliveries = async (
  { records: store, shared, keysOf, space, sealing, openOutageMemory }: StoreBackend,
  onEvicted: (delivery: Delivery) => void,
): Promise<DeliveryStore> => {
  const { RecordDeliveries } = await import('./deliveries/record-deliveries.ts');
  if (openOutageMemory === null) return new RecordDeliveries({ store, survives: 'nothing', onEvicted });
  const { createFallbackDeliveries } = await import('./deliveries/fallback-deliveries.ts');
  const openIndex = shared === null ? {} : { openIndex: await openRedisIndexes(shared) };
  const primary = new RecordDeliveries({ store, survives: 'process', space, sealing, ...openIndex });
  await primary.restore(keysOf('message'));
  // Its own: what sessions of an outage leave in memory is forgotten when the store is back, messages are not.
  return createFallbackDeliveries({ primary, memory: openOutageMemory(), onEvicted });
};

const openRedisIndexes = async ({ client }: NonNullable<StoreBackend['shared']>) => {
  const { createRedisDeliveryIndex } = await import('./jobs/redis-due-index.ts');
  return createRedisDeliveryIndex(client);
};
