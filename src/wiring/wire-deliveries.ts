import type { Delivery, DeliveryStore } from '@recourse/background/webhooks/delivery-store';
import type { StoreSpace } from '../sessions/store-space.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { Sealing } from '../store/seals.ts';

type OnEvicted = (delivery: Delivery) => void;

/** The name of the queues of a process that has the store alone: its successor has the same. */
export const LOCAL_QUEUE = 'local';

/** Messages in a store that ends with this process. */
export const openEmbeddedDeliveries = async (store: RecordStore, onEvicted: OnEvicted): Promise<DeliveryStore> => {
  const { createRecordDeliveries } = await import('@recourse/background/deliveries/record-deliveries');
  return createRecordDeliveries({ store, queue: LOCAL_QUEUE, survives: 'nothing', onEvicted });
};

/** Messages in a store that survives this process; while it is away, messages in `memory`. */
export const openSharedDeliveries = async (options: {
  readonly store: RecordStore;
  /** The name of this process's queues. */
  readonly queue: string;
  readonly space: StoreSpace;
  readonly sealing: Sealing;
  readonly memory: RecordStore;
  readonly onEvicted: OnEvicted;
}): Promise<DeliveryStore> => {
  const { store, queue, space, sealing, ...rest } = options;
  const { createRecordDeliveries } = await import('@recourse/background/deliveries/record-deliveries');
  const { createFallbackDeliveries } = await import('@recourse/background/deliveries/fallback-deliveries');
  const primary = createRecordDeliveries({ store, queue, survives: 'process', space, sealing });
  return createFallbackDeliveries({ primary, ...rest });
};
