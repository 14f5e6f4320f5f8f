import type { RecordStore } from 'recourse-server/store/record-store';
import {
  addUp,
  type Claim,
  type ClaimedDelivery,
  type Delivery,
  type DeliveryStore,
  NO_CLAIM,
} from '../webhooks/delivery-store.ts';
import { createRecordDeliveries } from './record-deliveries.ts';

// Of messages that were sent while the store was away. Forgotten, one is sent twice.
const MOST_SETTLED = 10_000;

/**
 * Stands before a store that can fail, and never rejects: while it is away new messages are kept in this process, and
 * delivered from there. What was claimed before and is delivered meanwhile is not sent again by this process.
 */
export const createFallbackDeliveries = (options: {
  readonly primary: DeliveryStore;
  /** Of this process. */
  readonly memory: RecordStore;
  /** Called for messages that the memory of this process has had no room for. */
  readonly onEvicted: (delivery: Delivery) => void;
}): DeliveryStore => {
  const { primary, memory, onEvicted } = options;
  const local = createRecordDeliveries({ store: memory, queue: LOCAL, survives: 'nothing', onEvicted });
  const settled = new Set<string>();
  const removeFromPrimary = async (delivery: ClaimedDelivery): Promise<void> => {
    if (await primary.remove(delivery).then(isDone, isNotDone)) {
      settled.delete(delivery.id);
      return;
    }
    settled.add(delivery.id);
    const [oldest] = settled;
    if (settled.size > MOST_SETTLED && oldest !== undefined) settled.delete(oldest);
  };
  const claimFromPrimary = async (endpoint: string, most: number, leaseMs: number): Promise<Claim> => {
    const claim = await primary.claim(endpoint, most, leaseMs).catch(orNull);
    if (claim === null) return NO_CLAIM;
    const sent = claim.deliveries.filter(({ id }) => settled.has(id));
    await Promise.all(sent.map(removeFromPrimary));
    return { ...claim, deliveries: claim.deliveries.filter((delivery) => !sent.includes(delivery)) };
  };
  return {
    // One whose answer was lost may be kept twice, and is then sent twice under one id.
    add: async (delivery) => (await primary.add(delivery).catch(orNull)) ?? local.add(delivery),
    claim: async (endpoint, most, leaseMs) => {
      const here = await local.claim(endpoint, most, leaseMs);
      const left = most - here.deliveries.length;
      return left === 0 ? here : addUp(here, await claimFromPrimary(endpoint, left, leaseMs));
    },
    reschedule: async (delivery, delayMs) => {
      if (delivery.queue === LOCAL) await local.reschedule(delivery, delayMs);
      // Where the store is away the message is due again when its lease is over.
      else await primary.reschedule(delivery, delayMs).catch(orNull);
    },
    remove: (delivery) => (delivery.queue === LOCAL ? local.remove(delivery) : removeFromPrimary(delivery)),
    disable: async (endpoint, version) => {
      await local.disable(endpoint, version);
      await primary.disable(endpoint, version).catch(orNull);
    },
    close: async () => {
      const lost: Delivery[] = [];
      for (const delivery of await local.close())
        if ((await primary.add(delivery).catch(orNull)) !== 'kept') lost.push(delivery);
      await primary.close().catch(orNull);
      return lost;
    },
  };
};

// No queue of a store that can fail is called so.
const LOCAL = 'outage';

const isDone = (): boolean => true;
const isNotDone = (): boolean => false;
const orNull = (): null => null;
