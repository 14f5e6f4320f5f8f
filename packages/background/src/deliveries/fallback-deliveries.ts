import type { RecordStore } from 'recourse-server/store/record-store';
import type { Claim, ClaimedDelivery, Delivery, DeliveryStore } from '../webhooks/delivery-store.ts';
import { RecordDeliveries } from './record-deliveries.ts';

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
  const local = new RecordDeliveries({ store: memory, survives: 'nothing', onEvicted });
  /** Claimed from `local`. */
  const ours = new WeakSet<ClaimedDelivery>();
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
  const claimFromPrimary = async (endpoint: string, most: number, leaseMs: number): Promise<Claim | null> => {
    const claim = await primary.claim(endpoint, most, leaseMs).catch(orNull);
    if (claim === null) return null;
    const sent = claim.deliveries.filter(({ id }) => settled.has(id));
    await Promise.all(sent.map(removeFromPrimary));
    const deliveries = claim.deliveries.filter((delivery) => !sent.includes(delivery));
    return { ...claim, deliveries, waiting: claim.waiting - sent.length };
  };
  return {
    // One whose answer was lost may be kept twice, and is then sent twice under one id.
    add: async (delivery) => (await primary.add(delivery).catch(orNull)) ?? local.add(delivery),
    claim: async (endpoint, most, leaseMs) => {
      const here = await local.claim(endpoint, most, leaseMs);
      for (const delivery of here.deliveries) ours.add(delivery);
      const left = most - here.deliveries.length;
      const there = left === 0 ? null : await claimFromPrimary(endpoint, left, leaseMs);
      if (there === null) return here;
      return {
        deliveries: [...here.deliveries, ...there.deliveries],
        waiting: here.waiting + there.waiting,
        nextMs: here.nextMs === null ? there.nextMs : Math.min(here.nextMs, there.nextMs ?? here.nextMs),
        disabled: there.disabled ?? here.disabled,
      };
    },
    reschedule: async (delivery, delayMs) => {
      if (ours.has(delivery)) await local.reschedule(delivery, delayMs);
      // Where the store is away the message is due again when its lease is over.
      else await primary.reschedule(delivery, delayMs).catch(orNull);
    },
    remove: (delivery) => (ours.has(delivery) ? local.remove(delivery) : removeFromPrimary(delivery)),
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

const isDone = (): boolean => true;
const isNotDone = (): boolean => false;
const orNull = (): null => null;
