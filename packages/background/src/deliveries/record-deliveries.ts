import type { Weight } from 'recourse-server/sessions/share-kind';
import { inRoom, type StoreSpace, UNLIMITED_SPACE } from 'recourse-server/sessions/store-space';
import type { Decide, RecordStore, Records } from 'recourse-server/store/record-store';
import { NO_SEALING, type Sealing, type SealPlace } from 'recourse-server/store/seals';
import {
  type Added,
  addUp,
  type Claim,
  type ClaimedDelivery,
  type Delivery,
  type DeliveryStore,
} from '../webhooks/delivery-store.ts';
import {
  createMessageKind,
  type Endpoint,
  endpointKind,
  type Queue,
  queueKind,
  type StoredMessage,
  setWaiting,
  TTL_MS,
} from './delivery-kinds.ts';

// An endpoint that is down for a day: 30 MB of messages of 600 bytes. A fifth of them is a tenant's: one that has many calls
// takes no message from others.
const MOST_WAITING = { endpoint: 50_000, tenant: 10_000 } as const;
// As long as the lease of a message: what waits and what was claimed is found at about the same time.
const LIFE_MS = 30_000;
// The rest of it at which it is renewed: one write in ten seconds, and not one a claim.
const RENEW_AT_MS = 20_000;
// Of a process that ends: what it still adds is everyone's so much later, when it has been written for certain.
const LAST_LIFE_MS = 2000;

type Options = {
  readonly store: RecordStore;
  /** The name of this process's queues: its own where others use the store, too, else one that its successor has as well. */
  readonly queue: string;
  /** Whether the store is there when this process has ended. */
  readonly survives: 'process' | 'nothing';
  /** Where messages take room. Left out: there is room for all. */
  readonly space?: Pick<StoreSpace, 'take' | 'give'>;
  /** Left out: nothing is sealed. */
  readonly sealing?: Sealing;
  readonly mostWaiting?: Readonly<Record<keyof typeof MOST_WAITING, number>>;
  /** Called for messages that the memory of this process has had no room for. */
  readonly onEvicted?: (delivery: Delivery) => void;
};

/**
 * Messages as records: one a message; one a queue, which each process has for each endpoint, so that replicas do not wait for
 * each other; and one an endpoint, which names the queues. The queue of a process that has died, or has not been heard of
 * for 30 s, is everyone's. Rejects where the store does.
 */
export const createRecordDeliveries = (options: Options): DeliveryStore => new RecordDeliveries(options);

type Taken = Omit<Claim, 'disabled'>;
type AddedMessage = { readonly isNew: boolean; readonly queue: string | null };

class RecordDeliveries implements DeliveryStore {
  readonly #options: Options;
  readonly #sealing: Sealing;
  readonly #messages: Records<StoredMessage>;
  readonly #queues: Records<Queue>;
  readonly #endpoints: Records<Endpoint>;
  /** Those of which this process has a queue. */
  readonly #known = new Set<string>();
  #isClosed = false;

  constructor(options: Options) {
    const { store } = options;
    this.#options = options;
    this.#sealing = options.sealing ?? NO_SEALING;
    this.#messages = store.open(createMessageKind((message) => this.#forget(message)));
    this.#queues = store.open(queueKind);
    this.#endpoints = store.open(endpointKind);
  }

  readonly add = async (delivery: Delivery): Promise<Added> => {
    const { space = UNLIMITED_SPACE } = this.#options;
    const weight = toWeight(delivery);
    const shortage = await space.take(delivery.tenant, 'deliveries', weight);
    if (shortage !== null) return shortage.of === 'tenant' ? 'no_part' : 'no_room';
    const added = await inRoom(space, delivery.tenant, weight, () => this.#add(delivery));
    if (added !== 'new') space.give(delivery.tenant, weight);
    return added === 'full' ? added : 'kept';
  };

  async #add(delivery: Delivery): Promise<'new' | 'known' | 'full'> {
    const { queue, mostWaiting = MOST_WAITING } = this.#options;
    const [message] = await Promise.all([this.#addMessage(delivery, queue), this.#renew(delivery.endpoint)]);
    if (message.queue === null) return 'known';
    // Also where the message is known: who kept it may have died before this step.
    const added = await keep(this.#queues, toQueueKey(delivery.endpoint, message.queue), (state, now) => {
      if (state.waiting.has(delivery.id)) return 'kept';
      if (state.waiting.size >= mostWaiting.endpoint) return 'full';
      if ((state.ofTenant.get(delivery.tenant) ?? 0) >= mostWaiting.tenant) return 'full';
      setWaiting(state, delivery.id, { dueAt: now, attempt: 0, tenant: delivery.tenant });
      return 'kept';
    });
    if (added === 'full') {
      await this.#messages.delete(toMessageKey(delivery));
      return added;
    }
    return message.isNew ? 'new' : 'known';
  }

  /** `queue`: the one that the message is in, or is to be in; null where it is delivered already. */
  #addMessage(delivery: Delivery, queue: string): Promise<AddedMessage> | AddedMessage {
    const { body: text, ...rest } = delivery;
    const body = this.#sealing.seals.seal(toPlace(delivery), text);
    return keep(this.#messages, toMessageKey(delivery), (message) => {
      const isNew = message.head === null;
      if (isNew) {
        message.head = { ...rest, queue };
        message.body = body;
      }
      return { isNew, queue: message.body === null ? null : (message.head?.queue ?? queue) };
    });
  }

  readonly claim = async (endpoint: string, most: number, leaseMs: number): Promise<Claim> => {
    const [{ disabled, abandoned }, own] = await Promise.all([
      this.#renew(endpoint),
      this.#take(endpoint, this.#options.queue, most, leaseMs),
    ]);
    let claim: Claim = { ...own, disabled };
    for (const queue of abandoned) {
      const taken = await this.#take(endpoint, queue, most - claim.deliveries.length, leaseMs);
      if (taken.waiting === 0) await this.#dropQueue(endpoint, queue);
      claim = addUp(claim, { ...taken, disabled });
    }
    return claim;
  };

  async #renew(endpoint: string): Promise<{ readonly disabled: string | null; readonly abandoned: readonly string[] }> {
    const { queue } = this.#options;
    this.#known.add(endpoint);
    const [lifeMs, renewAtMs] = this.#isClosed ? [LAST_LIFE_MS, LAST_LIFE_MS] : [LIFE_MS, RENEW_AT_MS];
    return keep(this.#endpoints, endpoint, ({ queues, disabled }, now) => {
      if ((queues.get(queue) ?? 0) - now < renewAtMs) queues.set(queue, now + lifeMs);
      return { disabled, abandoned: [...queues].flatMap(([name, until]) => (until <= now ? [name] : [])) };
    });
  }

  async #dropQueue(endpoint: string, queue: string): Promise<void> {
    // Its process may be back.
    await keep(this.#endpoints, endpoint, ({ queues }, now) => {
      if ((queues.get(queue) ?? 0) <= now) queues.delete(queue);
    });
  }

  async #take(endpoint: string, queue: string, most: number, leaseMs: number): Promise<Taken> {
    const key = toQueueKey(endpoint, queue);
    const taken = await keep(this.#queues, key, (state, now) => take(state, most, now + leaseMs, now));
    const found = await this.#readMessages(endpoint, taken.messages);
    const lost = found.filter((one) => 'lost' in one);
    if (lost.length > 0) await keep(this.#queues, key, (state) => leaveOut(state, lost));
    const gone = lost.filter((one) => one.lost === 'gone').length;
    return { deliveries: found.filter(isFound), nextMs: taken.nextMs, waiting: taken.waiting - gone };
  }

  /** Those of them that are there, not damaged and authentic; and the others. */
  #readMessages(endpoint: string, places: readonly Place[]): Promise<readonly (ClaimedDelivery | Lost)[]> {
    const { seals, onUnopened } = this.#sealing;
    return Promise.all(
      places.map(async (place): Promise<ClaimedDelivery | Lost> => {
        const { id, tenant, attempt } = place;
        const found = await this.#messages.read(toMessageKey({ endpoint, id, tenant }), toDelivery);
        if (found === null) return { ...place, lost: 'gone' };
        // Of its own record: its head is not sealed.
        const delivery = { ...found, endpoint, id, tenant };
        const opened = seals.open(toPlace(delivery), found.body);
        if (!('problem' in opened)) return { ...delivery, body: opened.text, attempt };
        onUnopened('message', opened.problem);
        return { ...place, lost: opened.problem === 'key_missing' ? 'for_others' : 'gone' };
      }),
    );
  }

  readonly reschedule = async ({ endpoint, queue, id, attempt }: ClaimedDelivery, delayMs: number): Promise<void> => {
    await keep(this.#queues, toQueueKey(endpoint, queue), (state, now) => {
      const waiting = state.waiting.get(id);
      if (waiting?.attempt === attempt) setWaiting(state, id, { ...waiting, dueAt: now + delayMs });
    });
  };

  readonly remove = async (delivery: ClaimedDelivery): Promise<void> => {
    const { endpoint, queue, id } = delivery;
    const [, wasThere] = await Promise.all([
      keep(this.#queues, toQueueKey(endpoint, queue), (state) => remove(state, id)),
      keep(this.#messages, toMessageKey(delivery), (message) => {
        const isThere = message.body !== null;
        if (message.head?.repeats === undefined) message.head = null;
        message.body = null;
        return isThere;
      }),
    ]);
    if (wasThere) this.#options.space?.give(delivery.tenant, toWeight(delivery));
  };

  readonly disable = async (endpoint: string, version: string): Promise<void> => {
    await keep(this.#endpoints, endpoint, (state) => {
      state.disabled = version;
    });
  };

  readonly close = async (): Promise<readonly Delivery[]> => {
    const { queue, survives } = this.#options;
    const ending: Delivery[] = [];
    this.#isClosed = true;
    for (const endpoint of this.#known) {
      // At once everyone's.
      await keep(this.#endpoints, endpoint, ({ queues }) => void queues.set(queue, 0));
      if (survives === 'process') continue;
      const places = await this.#queues.read(toQueueKey(endpoint, queue), toPlaces);
      ending.push(...(await this.#readMessages(endpoint, places ?? [])).filter(isFound));
    }
    return ending;
  };

  /** Only in memory, where updates are made at once. */
  #forget(message: StoredMessage): void {
    const delivery = toDelivery(message);
    if (delivery === null) return;
    const { endpoint, queue, id } = delivery;
    void this.#queues.update(toQueueKey(endpoint, queue), (state) => remove(state, id));
    this.#options.onEvicted?.(delivery);
  }
}

// Measured in Redis: a message without its body, and its place in a queue.
const STORED_BYTES = 800;

const toWeight = ({ body, since }: Delivery): Weight => ({
  bytes: STORED_BYTES + Buffer.byteLength(body),
  endsAt: since + TTL_MS,
});

/** Each step of a message waits until it is kept. */
const keep = <State, Result>(
  records: Records<State>,
  key: string,
  decide: Decide<State, Result>,
): Result | Promise<Result> => records.update(key, decide, 'long');

// Neither names of tenants nor ids have a colon: what stands before it is the tenant.
const toMessageKey = ({ tenant, endpoint, id }: Pick<Delivery, 'tenant' | 'endpoint' | 'id'>): string =>
  `${tenant}:${endpoint}/${id}`;

const toPlace = (delivery: Pick<Delivery, 'tenant' | 'endpoint' | 'id' | 'since'>): SealPlace => ({
  ...{ kind: 'message', key: toMessageKey(delivery), life: String(delivery.since), part: 'b' },
});

const toQueueKey = (endpoint: string, queue: string): string => `${endpoint}/${queue}`;

const toDelivery = ({ head, body }: StoredMessage): Omit<ClaimedDelivery, 'attempt'> | null =>
  head === null || body === null ? null : { ...head, body };

/** Of a message in its queue. */
type Place = { readonly id: string; readonly tenant: string; readonly attempt: number };

const toPlaces = ({ waiting }: Queue): readonly Place[] =>
  Array.from(waiting, ([id, { tenant, attempt }]) => ({ id, tenant, attempt }));

/** One that is not sent. `for_others`: it is left to a process that has its key. */
type Lost = Place & { readonly lost: 'gone' | 'for_others' };

const isFound = (one: ClaimedDelivery | Lost): one is ClaimedDelivery => !('lost' in one);

/** Takes out those that are gone. For the others this was no attempt: they are due again when their lease is over. */
const leaveOut = (queue: Queue, places: readonly Lost[]): void => {
  for (const { id, attempt, lost } of places) {
    const waiting = queue.waiting.get(id);
    if (lost === 'gone') remove(queue, id);
    else if (waiting?.attempt === attempt) setWaiting(queue, id, { ...waiting, attempt: attempt - 1 });
  }
};

/** Takes what is due, the first first. */
const take = (
  queue: Queue,
  most: number,
  leaseUntil: number,
  now: number,
): { readonly messages: readonly Place[]; readonly waiting: number; readonly nextMs: number | null } => {
  const due = [...queue.waiting].filter(([, { dueAt }]) => dueAt <= now);
  due.sort(([, one], [, other]) => one.dueAt - other.dueAt);
  const messages: Place[] = [];
  for (const [id, { tenant, attempt }] of due.slice(0, most)) {
    setWaiting(queue, id, { dueAt: leaseUntil, attempt: attempt + 1, tenant });
    messages.push({ id, tenant, attempt: attempt + 1 });
  }
  let nextAt = Number.POSITIVE_INFINITY;
  for (const { dueAt } of queue.waiting.values()) nextAt = Math.min(nextAt, dueAt);
  return { messages, waiting: queue.waiting.size, nextMs: queue.waiting.size === 0 ? null : Math.max(0, nextAt - now) };
};

const remove = (queue: Queue, id: string): void => {
  if (queue.waiting.has(id)) setWaiting(queue, id, null);
};
