import type { MayKeep } from '../../executor/store-observer.ts';
import type { RecordStore, Records } from '../../store/record-store.ts';
import {
  addUp,
  type Claim,
  type ClaimedDelivery,
  type Delivery,
  type DeliveryStore,
} from '../../webhooks/delivery-store.ts';
import {
  createMessageKind,
  type Endpoint,
  endpointKind,
  type Queue,
  queueKind,
  type StoredMessage,
  setWaiting,
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
  readonly mayKeep?: MayKeep;
  readonly mostWaiting?: Readonly<Record<keyof typeof MOST_WAITING, number>>;
  /** Called for messages that the memory of this process has had no room for. */
  readonly onEvicted?: (delivery: Delivery) => void;
};

/**
 * Messages as records: one a message; one a queue, which each process has for each endpoint, so that replicas do not wait for
 * each other; and one an endpoint, which names the queues. The queue of a process that has died, or has not been heard of
 * for 30 s, is everyone's. Rejects where the store does.
 */
export const createRecordDeliveries = (
  options: Options,
): DeliveryStore & {
  /** Whether the message waits. */
  readonly has: (delivery: Delivery) => Promise<boolean>;
} => new RecordDeliveries(options);

type Taken = Omit<Claim, 'disabled'>;

class RecordDeliveries implements DeliveryStore {
  readonly #options: Options;
  readonly #messages: Records<StoredMessage>;
  readonly #queues: Records<Queue>;
  readonly #endpoints: Records<Endpoint>;
  /** Those of which this process has a queue. */
  readonly #known = new Set<string>();
  #isClosed = false;
  /** In which queue what this process has claimed is, where that is another one's. */
  readonly #takenOver = new Map<string, string>();

  constructor(options: Options) {
    const { store } = options;
    this.#options = options;
    this.#messages = store.open(createMessageKind((message) => this.#forget(message)));
    this.#queues = store.open(queueKind);
    this.#endpoints = store.open(endpointKind);
  }

  readonly add = async (delivery: Delivery): Promise<'kept' | 'full' | 'no_room'> => {
    const { mayKeep, queue, mostWaiting = MOST_WAITING } = this.#options;
    if (mayKeep?.('deliveries') === false) return 'no_room';
    const [queueOfIt] = await Promise.all([this.#addMessage(delivery, queue), this.#renew(delivery.endpoint)]);
    if (queueOfIt === null) return 'kept';
    // Also where the message is known: who kept it may have died before this step.
    const added = await this.#queues.update(
      toQueueKey(delivery.endpoint, queueOfIt),
      (state, now) => {
        if (state.waiting.has(delivery.id)) return 'kept';
        if (state.waiting.size >= mostWaiting.endpoint) return 'full';
        if ((state.ofTenant.get(delivery.tenant) ?? 0) >= mostWaiting.tenant) return 'full';
        setWaiting(state, delivery.id, { dueAt: now, attempt: 0, tenant: delivery.tenant });
        return 'kept';
      },
      'long',
    );
    if (added === 'full') await this.#messages.delete(toMessageKey(delivery));
    return added;
  };

  readonly has = async (delivery: Delivery): Promise<boolean> => {
    return (await this.#messages.read(toMessageKey(delivery), toDelivery)) !== null;
  };

  /** The queue that the message is in, or is to be in; null where it is delivered already. */
  #addMessage(delivery: Delivery, queue: string): Promise<string | null> | string | null {
    const { body } = delivery;
    const head = toHead(delivery, queue);
    return this.#messages.update(
      toMessageKey(delivery),
      (message) => {
        const known = readHead(message.head);
        if (known === null) Object.assign(message, { head, body });
        return message.body === null ? null : (known?.queue ?? queue);
      },
      'long',
    );
  }

  readonly claim = async (endpoint: string, most: number, leaseMs: number): Promise<Claim> => {
    const [{ disabled, abandoned }, own] = await Promise.all([
      this.#renew(endpoint),
      this.#take(endpoint, this.#options.queue, most, leaseMs),
    ]);
    let claim: Claim = { ...own, disabled };
    for (const queue of abandoned) {
      const taken = await this.#take(endpoint, queue, most - claim.deliveries.length, leaseMs);
      for (const { id } of taken.deliveries) this.#takenOver.set(id, queue);
      if (taken.waiting === 0) await this.#dropQueue(endpoint, queue);
      claim = addUp(claim, { ...taken, disabled });
    }
    return claim;
  };

  async #renew(endpoint: string): Promise<{ readonly disabled: string | null; readonly abandoned: readonly string[] }> {
    const { queue } = this.#options;
    this.#known.add(endpoint);
    const [lifeMs, renewAtMs] = this.#isClosed ? [LAST_LIFE_MS, LAST_LIFE_MS] : [LIFE_MS, RENEW_AT_MS];
    return this.#endpoints.update(
      endpoint,
      ({ queues, disabled }, now) => {
        if ((queues.get(queue) ?? 0) - now < renewAtMs) queues.set(queue, now + lifeMs);
        return { disabled, abandoned: [...queues].flatMap(([name, until]) => (until <= now ? [name] : [])) };
      },
      'long',
    );
  }

  async #dropQueue(endpoint: string, queue: string): Promise<void> {
    await this.#endpoints.update(
      endpoint,
      // Its process may be back.
      ({ queues }, now) => {
        if ((queues.get(queue) ?? 0) <= now) queues.delete(queue);
      },
      'long',
    );
  }

  async #take(endpoint: string, queue: string, most: number, leaseMs: number): Promise<Taken> {
    const key = toQueueKey(endpoint, queue);
    const taken = await this.#queues.update(key, (state, now) => take(state, most, now + leaseMs, now), 'long');
    const found = await Promise.all(
      taken.messages.map(async ({ id, tenant, attempt }): Promise<ClaimedDelivery | null> => {
        const delivery = await this.#messages.read(toMessageKey({ endpoint, id, tenant }), toDelivery);
        return delivery === null ? null : { ...delivery, attempt };
      }),
    );
    const deliveries = found.filter((delivery) => delivery !== null);
    if (deliveries.length < found.length) {
      const ids = new Set(deliveries.map(({ id }) => id));
      const lost = taken.messages.filter(({ id }) => !ids.has(id));
      await this.#queues.update(key, (state) => remove(state, lost), 'long');
    }
    return { deliveries, nextMs: taken.nextMs, waiting: taken.waiting - (found.length - deliveries.length) };
  }

  readonly reschedule = async ({ endpoint, id, attempt }: ClaimedDelivery, delayMs: number): Promise<void> => {
    await this.#queues.update(
      this.#keyOf(endpoint, id),
      (state, now) => {
        const waiting = state.waiting.get(id);
        if (waiting?.attempt === attempt) setWaiting(state, id, { ...waiting, dueAt: now + delayMs });
      },
      'long',
    );
  };

  readonly remove = async (delivery: Delivery): Promise<void> => {
    const key = this.#keyOf(delivery.endpoint, delivery.id);
    this.#takenOver.delete(delivery.id);
    await Promise.all([
      this.#queues.update(key, (state) => remove(state, [delivery]), 'long'),
      this.#messages.update(
        toMessageKey(delivery),
        (message) => {
          if (readHead(message.head)?.delivery.repeats === undefined) message.head = '';
          message.body = null;
        },
        'long',
      ),
    ]);
  };

  readonly disable = async (endpoint: string, version: string): Promise<void> => {
    await this.#endpoints.update(
      endpoint,
      (state) => {
        state.disabled = version;
      },
      'long',
    );
  };

  readonly close = async (): Promise<number> => {
    const { queue, survives } = this.#options;
    let lost = 0;
    this.#isClosed = true;
    for (const endpoint of this.#known) {
      // At once everyone's.
      await this.#endpoints.update(endpoint, ({ queues }) => void queues.set(queue, 0), 'long');
      if (survives === 'nothing')
        lost += (await this.#queues.read(toQueueKey(endpoint, queue), ({ waiting }) => waiting.size)) ?? 0;
    }
    return lost;
  };

  #keyOf(endpoint: string, id: string): string {
    return toQueueKey(endpoint, this.#takenOver.get(id) ?? this.#options.queue);
  }

  /** Only in memory, where updates are made at once. */
  #forget(message: StoredMessage): void {
    const delivery = toDelivery(message);
    if (delivery === null) return;
    void this.#queues.update(this.#keyOf(delivery.endpoint, delivery.id), (state) => remove(state, [delivery]));
    this.#options.onEvicted?.(delivery);
  }
}

// Neither names of tenants nor ids have a colon: what stands before it is the tenant.
const toMessageKey = ({ tenant, endpoint, id }: Pick<Delivery, 'tenant' | 'endpoint' | 'id'>): string =>
  `${tenant}:${endpoint}/${id}`;

const toQueueKey = (endpoint: string, queue: string): string => `${endpoint}/${queue}`;

// None of them holds a space.
const HEAD = /^(\d{1,16}) (\S*) (\S*) (\S*) (\S*) (once)?$/;

const toHead = ({ since, id, endpoint, tenant, repeats }: Delivery, queue: string): string =>
  `${since} ${id} ${endpoint} ${tenant} ${queue} ${repeats === undefined ? '' : 'once'}`;

/** null: there is none, or it is damaged. */
const readHead = (head: string) => {
  const [found, since, id = '', endpoint = '', tenant = '', queue = '', once] = HEAD.exec(head) ?? [];
  if (found === undefined) return null;
  const repeats = once === undefined ? {} : ({ repeats: 'never' } as const);
  return { queue, delivery: { id, endpoint, tenant, since: Number(since), ...repeats } };
};

const toDelivery = ({ head, body }: StoredMessage): Delivery | null => {
  const read = body === null ? null : readHead(head);
  return body === null || read === null ? null : { ...read.delivery, body };
};

type TakenMessage = { readonly id: string; readonly tenant: string; readonly attempt: number };

/** Takes what is due, the first first. */
const take = (
  queue: Queue,
  most: number,
  leaseUntil: number,
  now: number,
): { readonly messages: readonly TakenMessage[]; readonly waiting: number; readonly nextMs: number | null } => {
  const due = [...queue.waiting].filter(([, { dueAt }]) => dueAt <= now);
  due.sort(([, one], [, other]) => one.dueAt - other.dueAt);
  const messages: TakenMessage[] = [];
  for (const [id, { tenant, attempt }] of due.slice(0, most)) {
    setWaiting(queue, id, { dueAt: leaseUntil, attempt: attempt + 1, tenant });
    messages.push({ id, tenant, attempt: attempt + 1 });
  }
  let nextAt = Number.POSITIVE_INFINITY;
  for (const { dueAt } of queue.waiting.values()) nextAt = Math.min(nextAt, dueAt);
  return { messages, waiting: queue.waiting.size, nextMs: queue.waiting.size === 0 ? null : Math.max(0, nextAt - now) };
};

const remove = (queue: Queue, messages: readonly { readonly id: string }[]): void => {
  for (const { id } of messages) if (queue.waiting.has(id)) setWaiting(queue, id, null);
};
