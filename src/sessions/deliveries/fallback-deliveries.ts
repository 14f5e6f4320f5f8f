import type { RecordStore } from '../../store/record-store.ts';
import { addUp, type Claim, type Delivery, type DeliveryStore } from '../../webhooks/delivery-store.ts';
import { attemptCommand, type StoreAvailability } from '../store-availability.ts';
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
  readonly availability: Pick<StoreAvailability, 'attempt'>;
  /** Called for commands that the store answered with an error of its own. */
  readonly onRefused: (error: unknown) => void;
  /** Called for messages that the memory of this process has had no room for. */
  readonly onEvicted: (delivery: Delivery) => void;
}): DeliveryStore => {
  const { primary, memory, availability, onRefused, onEvicted } = options;
  /** What is in `local`, by ids. */
  const here = new Map<string, Delivery>();
  const local = createRecordDeliveries({
    store: memory,
    queue: 'local',
    survives: 'nothing',
    onEvicted: (delivery) => {
      here.delete(delivery.id);
      onEvicted(delivery);
    },
  });
  const settled = new Set<string>();
  const ask = async <Answer>(what: 'reads' | 'writes', command: () => Promise<Answer>): Promise<Answer | null> => {
    const reply = await attemptCommand(availability, 'webhook', what, command);
    if (reply.kind === 'refused') onRefused(reply.error);
    return reply.kind === 'answered' ? reply.answer : null;
  };
  const removeHere = async (delivery: Delivery): Promise<void> => {
    here.delete(delivery.id);
    await local.remove(delivery);
  };
  const removeFromPrimary = async (delivery: Delivery): Promise<void> => {
    if ((await ask('writes', () => primary.remove(delivery).then(done))) === true) {
      settled.delete(delivery.id);
      return;
    }
    settled.add(delivery.id);
    const [oldest] = settled;
    if (settled.size > MOST_SETTLED && oldest !== undefined) settled.delete(oldest);
  };
  const claimFromPrimary = async (endpoint: string, most: number, leaseMs: number): Promise<Claim> => {
    const claim = await ask('reads', () => primary.claim(endpoint, most, leaseMs));
    if (claim === null) return NOTHING;
    const sent = claim.deliveries.filter(({ id }) => settled.has(id));
    await Promise.all(sent.map(removeFromPrimary));
    return { ...claim, deliveries: claim.deliveries.filter((delivery) => !sent.includes(delivery)) };
  };
  return {
    // One whose answer was lost may be kept twice, and is then sent twice under one id.
    add: async (delivery) => {
      const added = await ask('writes', () => primary.add(delivery));
      if (added !== null) return added;
      here.set(delivery.id, delivery);
      const keptHere = await local.add(delivery);
      if (!(await local.has(delivery))) here.delete(delivery.id);
      return keptHere;
    },
    claim: async (endpoint, most, leaseMs) => {
      const here = await local.claim(endpoint, most, leaseMs);
      const left = most - here.deliveries.length;
      return left === 0 ? here : addUp(here, await claimFromPrimary(endpoint, left, leaseMs));
    },
    reschedule: async (delivery, delayMs) => {
      if (here.has(delivery.id)) await local.reschedule(delivery, delayMs);
      // Where the store is away the message is due again when its lease is over.
      else await ask('writes', () => primary.reschedule(delivery, delayMs));
    },
    remove: (delivery) => (here.has(delivery.id) ? removeHere(delivery) : removeFromPrimary(delivery)),
    disable: async (endpoint, version) => {
      await local.disable(endpoint, version);
      await ask('writes', () => primary.disable(endpoint, version));
    },
    close: async () => {
      for (const delivery of [...here.values()])
        if ((await ask('writes', () => primary.add(delivery))) === 'kept') await removeHere(delivery);
      await ask('writes', () => primary.close());
      return local.close();
    },
  };
};

const done = (): true => true;

const NOTHING: Claim = { deliveries: [], nextMs: null, waiting: 0, disabled: null };
