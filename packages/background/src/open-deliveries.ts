import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { Delivery, DeliveryStore } from './webhooks/delivery-store.ts';

/** Opens what keeps messages for endpoints; while the store is away, they are in memory. */
export const openDeliveries = async (
  { records: store, queue, space, sealing, openOutageMemory }: StoreBackend,
  onEvicted: (delivery: Delivery) => void,
): Promise<DeliveryStore> => {
  const { createRecordDeliveries } = await import('./deliveries/record-deliveries.ts');
  if (openOutageMemory === null) return createRecordDeliveries({ store, queue, survives: 'nothing', onEvicted });
  const { createFallbackDeliveries } = await import('./deliveries/fallback-deliveries.ts');
  const primary = createRecordDeliveries({ store, queue, survives: 'process', space, sealing });
  // Its own: what sessions of an outage leave in memory is forgotten when the store is back, messages are not.
  return createFallbackDeliveries({ primary, memory: openOutageMemory(), onEvicted });
};
