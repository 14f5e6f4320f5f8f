import { type EvictionReason, tenantOfKey, textBytes } from '../../memory/bounded-store.ts';
import type { StoreMemory } from '../../memory/store-memory.ts';
import type { Claim, ClaimedDelivery, Delivery, DeliveryStore } from '../../webhooks/delivery-store.ts';

// Longer than a message is tried.
const TTL_MS = 25 * 3_600_000;
// The record, and its place in the order.
const DELIVERY_BYTES = 250;

// Ids that come but once. Their messages come within milliseconds of each other.
const MOST_ONCE = 10_000;

type Held = { readonly delivery: Delivery; attempt: number; dueAt: number };

/** Messages of this process, which end with it. */
export type MemoryDeliveries = DeliveryStore & {
  readonly has: (delivery: Delivery) => boolean;
  /** All that wait, whether claimed or not. */
  readonly list: () => readonly Delivery[];
};

/**
 * Messages in this process, in a store of `memory`: where there is no room the tenant that holds most loses its oldest,
 * and `onEvicted` hears of it.
 */
export const createMemoryDeliveries = (options: {
  readonly memory: StoreMemory;
  readonly now: () => number;
  readonly onEvicted: (delivery: Delivery) => void;
}): MemoryDeliveries => {
  const { memory, now, onEvicted } = options;
  const idsOf = new Map<string, Map<string, Held>>();
  const disabled = new Map<string, string>();
  const once = new Set<string>();
  const onGone = (_key: string, { delivery }: Held, reason: EvictionReason | 'deleted'): void => {
    idsOf.get(delivery.endpoint)?.delete(delivery.id);
    if (reason !== 'deleted') onEvicted(delivery);
  };
  const ttl = { ms: TTL_MS, renewed: 'never' } as const;
  const held = memory.open<Held>('webhooks', { tenantOf: tenantOfKey, ttl, now, onGone });
  const find = (delivery: Delivery): Held | undefined => held.peek(toKey(delivery));
  return {
    has: (delivery) => find(delivery) !== undefined,
    list: () => [...idsOf.values()].flatMap((ids) => [...ids.values()].map(({ delivery }) => delivery)),
    add: async (delivery) => {
      if (find(delivery) !== undefined || once.has(toKey(delivery))) return 'kept';
      if (delivery.repeats === 'never') once.add(toKey(delivery));
      const [oldest] = once;
      if (once.size > MOST_ONCE && oldest !== undefined) once.delete(oldest);
      const one: Held = { delivery, attempt: 0, dueAt: now() };
      const ids = idsOf.get(delivery.endpoint) ?? new Map<string, Held>();
      idsOf.set(delivery.endpoint, ids.set(delivery.id, one));
      // What is larger than the whole store is gone at once, and told of as evicted.
      held.set(toKey(delivery), one, DELIVERY_BYTES + textBytes(delivery.body) + textBytes(delivery.id));
      return 'kept';
    },
    claim: async (endpoint, most, leaseMs) => {
      const at = now();
      const ids = idsOf.get(endpoint) ?? new Map<string, Held>();
      const deliveries: ClaimedDelivery[] = [];
      let nextAt = Number.POSITIVE_INFINITY;
      for (const one of ids.values()) {
        if (one.dueAt <= at && deliveries.length < most) {
          one.attempt += 1;
          one.dueAt = at + leaseMs;
          deliveries.push({ ...one.delivery, attempt: one.attempt });
        }
        nextAt = Math.min(nextAt, one.dueAt);
      }
      return toClaim(deliveries, ids.size, nextAt - at, disabled.get(endpoint));
    },
    reschedule: async (delivery, delayMs) => {
      const one = find(delivery);
      if (one !== undefined && one.attempt === delivery.attempt) one.dueAt = now() + delayMs;
    },
    remove: async (delivery) => void held.delete(toKey(delivery)),
    disable: async (endpoint, version) => void disabled.set(endpoint, version),
    close: async () => held.size,
  };
};

// Ids have no colon: what stands before the last one is the tenant.
const toKey = ({ tenant, id }: Delivery): string => `${tenant}:${id}`;

const toClaim = (
  deliveries: readonly ClaimedDelivery[],
  waiting: number,
  nextMs: number,
  disabled: string | undefined,
): Claim => ({
  deliveries,
  waiting,
  nextMs: nextMs === Number.POSITIVE_INFINITY ? null : Math.max(0, nextMs),
  disabled: disabled ?? null,
});
