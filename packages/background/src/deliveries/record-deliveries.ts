import type { Weight } from 'recourse-server/sessions/share-kind';
import { inRoom, type StoreSpace, UNLIMITED_SPACE } from 'recourse-server/sessions/store-space';
import type { RecordStore, Records } from 'recourse-server/store/record-store';
import { NO_SEALING, type Sealing, type SealPlace, type UnopenedReason } from 'recourse-server/store/seals';
import { createDueIndex, type DueEntry, type DueIndex, type DueLimits } from '../jobs/due-index.ts';
import type { Added, Claim, ClaimedDelivery, Delivery, DeliveryStore } from '../webhooks/delivery-store.ts';
import { createMessageKind, endpointKind, type StoredMessage, TTL_MS } from './delivery-kinds.ts';

// An endpoint that is down for a day: 30 MB of messages of 600 bytes. A fifth of them is a tenant's: one that has many calls
// takes no message from others.
const MOST_WAITING: DueLimits = { ofHolder: 10_000, ofAll: 50_000 };

export type RecordDeliveriesOptions = {
  readonly store: RecordStore;
  /** Opens the index of the messages of an endpoint, held by their tenants. Left out: in this process, which has the store alone. */
  readonly openIndex?: (endpoint: string, limits: DueLimits) => DueIndex;
  /** Whether the store is there when this process has ended. */
  readonly survives: 'process' | 'nothing';
  /** Where messages take room. Left out: there is room for all. */
  readonly space?: Pick<StoreSpace, 'take' | 'give'>;
  /** Left out: nothing is sealed. */
  readonly sealing?: Sealing;
  readonly mostWaiting?: DueLimits;
  /** Called for messages that the memory of this process has had no room for. */
  readonly onEvicted?: (delivery: Delivery) => void;
};

/** A message that is not sent. `key_missing`: it is left to a process that has its key. */
type Unsent = { readonly problem: UnopenedReason | 'gone' };

/**
 * Messages as records, and beside them an index for each endpoint: which of its messages wait, and when each is due. Any process
 * that shares the store claims what is due. Rejects where the store does.
 */
export class RecordDeliveries implements DeliveryStore {
  readonly #options: RecordDeliveriesOptions;
  readonly #sealing: Sealing;
  readonly #messages: Records<StoredMessage>;
  readonly #endpoints: Records<{ disabled: string | null }>;
  readonly #indexes = new Map<string, DueIndex>();

  constructor(options: RecordDeliveriesOptions) {
    this.#options = options;
    this.#sealing = options.sealing ?? NO_SEALING;
    this.#messages = options.store.open(createMessageKind((message) => this.#forget(message)));
    this.#endpoints = options.store.open(endpointKind);
  }

  /** Enters messages that an earlier process has left in a store which this process has alone. */
  async restore(keys: readonly string[]): Promise<void> {
    const { now } = this.#options.store;
    for (const key of keys) {
      const head = await this.#messages.read(key, ({ head: found, body }) => (body === null ? null : found));
      if (head === null) continue;
      await this.#indexOf(head.endpoint).enterAgain(toEntry(head), Math.max(0, head.dueAt - now()));
    }
  }

  readonly add = async (delivery: Delivery): Promise<Added> => {
    const { space = UNLIMITED_SPACE } = this.#options;
    const weight = weighMessage(delivery);
    const shortage = await space.take(delivery.tenant, 'deliveries', weight);
    if (shortage !== null) return shortage.of === 'tenant' ? 'no_part' : 'no_room';
    const added = await inRoom(space, delivery.tenant, weight, () => this.#add(delivery));
    if (added !== 'new') space.give(delivery.tenant, weight);
    return added === 'full' ? added : 'kept';
  };

  async #add(delivery: Delivery): Promise<'new' | 'existing' | 'full'> {
    const { body: text, ...rest } = delivery;
    const body = this.#sealing.seals.seal(toPlace(delivery), text);
    const key = toMessageKey(delivery);
    const message = await this.#messages.update(
      key,
      (state, now) => {
        const isNew = state.head === null;
        if (isNew) Object.assign(state, { head: { ...rest, attempt: 0, dueAt: now }, body });
        return { isNew, isDelivered: state.body === null };
      },
      'long',
    );
    if (message.isDelivered) return 'existing';
    // Also where the message exists: the process that made it may have died before this step.
    const entered = await this.#indexOf(delivery.endpoint).enter(toEntry(delivery), 0);
    if (entered === 'existing') return 'existing';
    if (entered === 'entered') return message.isNew ? 'new' : 'existing';
    if (message.isNew) await this.#messages.delete(key);
    return 'full';
  }

  readonly claim = async (endpoint: string, most: number, leaseMs: number): Promise<Claim> => {
    const index = this.#indexOf(endpoint);
    const [due, disabled] = await Promise.all([
      index.popDue(most, leaseMs),
      this.#endpoints.read(endpoint, (state) => state.disabled),
    ]);
    const { now, entries, count, nextMs } = due;
    const found = await Promise.all(entries.map((entry) => this.#take(endpoint, entry, now + leaseMs)));
    const gone = entries.filter((_, at) => isGone(found[at]));
    await Promise.all(gone.map((entry) => index.leave(entry)));
    const waiting = count - gone.length;
    const deliveries = found.filter(isClaimed);
    return { deliveries, waiting, nextMs: waiting === 0 ? null : nextMs, disabled };
  };

  /** Begins an attempt, unless the message is gone, damaged or not authentic. */
  async #take(endpoint: string, entry: DueEntry, dueAt: number): Promise<ClaimedDelivery | Unsent> {
    const begin = (message: StoredMessage): ClaimedDelivery | Unsent => {
      const found = this.#open(endpoint, entry, message);
      if ('problem' in found || message.head === null) return found;
      const begun = { attempt: found.attempt + 1, dueAt };
      message.head = { ...message.head, ...begun };
      return { ...found, ...begun };
    };
    const taken = await this.#messages.update(
      toMessageKey({ endpoint, id: entry.key, tenant: entry.holder }),
      begin,
      'long',
    );
    if ('problem' in taken && taken.problem !== 'gone') this.#sealing.onUnopened('message', taken.problem);
    return taken;
  }

  /** Pure. Its endpoint, id and tenant are those of its record, for its head is not sealed. */
  #open(
    endpoint: string,
    { key: id, holder: tenant }: DueEntry,
    { head, body }: StoredMessage,
  ): ClaimedDelivery | Unsent {
    if (head === null || body === null) return { problem: 'gone' };
    const own = { ...head, endpoint, id, tenant };
    const opened = this.#sealing.seals.open(toPlace(own), body);
    return 'problem' in opened ? opened : { ...own, body: opened.text };
  }

  readonly reschedule = async (delivery: ClaimedDelivery, delayMs: number): Promise<void> => {
    const { endpoint, attempt, dueAt } = delivery;
    const note = (message: StoredMessage, now: number): void => {
      if (message.head?.attempt === attempt) message.head = { ...message.head, dueAt: now + delayMs };
    };
    await Promise.all([
      this.#indexOf(endpoint).putOff(toEntry(delivery), dueAt, delayMs),
      this.#messages.update(toMessageKey(delivery), note, 'long'),
    ]);
  };

  readonly remove = async (delivery: ClaimedDelivery): Promise<void> => {
    const end = (message: StoredMessage): boolean => {
      const isThere = message.body !== null;
      if (message.head?.repeats === undefined) message.head = null;
      message.body = null;
      return isThere;
    };
    const [wasThere] = await Promise.all([
      this.#messages.update(toMessageKey(delivery), end, 'long'),
      this.#indexOf(delivery.endpoint).leave(toEntry(delivery)),
    ]);
    if (wasThere) this.#options.space?.give(delivery.tenant, weighMessage(delivery));
  };

  readonly disable = async (endpoint: string, version: string): Promise<void> => {
    const mark = (state: { disabled: string | null }): void => {
      state.disabled = version;
    };
    await this.#endpoints.update(endpoint, mark, 'long');
  };

  readonly close = async (): Promise<readonly Delivery[]> => {
    if (this.#options.survives === 'process') return [];
    const read = (endpoint: string, entry: DueEntry) =>
      this.#messages.read(toMessageKey({ endpoint, id: entry.key, tenant: entry.holder }), (message) =>
        this.#open(endpoint, entry, message),
      );
    const ending: Delivery[] = [];
    for (const [endpoint, index] of this.#indexes) {
      const entries = (await Array.fromAsync(index.list())).flat();
      const found = await Promise.all(entries.map((entry) => read(endpoint, entry)));
      ending.push(...found.filter((one) => one !== null).filter(isClaimed));
    }
    return ending;
  };

  #indexOf(endpoint: string): DueIndex {
    const existing = this.#indexes.get(endpoint);
    if (existing !== undefined) return existing;
    const { openIndex, store, mostWaiting: limits = MOST_WAITING } = this.#options;
    const index = openIndex?.(endpoint, limits) ?? createDueIndex({ limits, now: store.now });
    this.#indexes.set(endpoint, index);
    return index;
  }

  /** Only in memory. */
  #forget({ head, body }: StoredMessage): void {
    if (head === null || body === null) return;
    void this.#indexOf(head.endpoint).leave(toEntry(head));
    this.#options.onEvicted?.({ ...head, body });
  }
}

const isClaimed = (one: ClaimedDelivery | Unsent): one is ClaimedDelivery => !('problem' in one);

const isGone = (one: ClaimedDelivery | Unsent | undefined): boolean =>
  one !== undefined && 'problem' in one && one.problem !== 'key_missing';

// Measured in Redis: a message without its body, and its entry.
const STORED_BYTES = 800;

const weighMessage = ({ body, since }: Delivery): Weight => ({
  bytes: STORED_BYTES + Buffer.byteLength(body),
  endsAt: since + TTL_MS,
});

const toEntry = ({ id, tenant }: Pick<Delivery, 'id' | 'tenant'>): DueEntry => ({ key: id, holder: tenant });

// Neither names of tenants nor ids have a colon: what stands before it is the tenant.
const toMessageKey = ({ tenant, endpoint, id }: Pick<Delivery, 'tenant' | 'endpoint' | 'id'>): string =>
  `${tenant}:${endpoint}/${id}`;

const toPlace = (delivery: Pick<Delivery, 'tenant' | 'endpoint' | 'id' | 'since'>): SealPlace => ({
  ...{ kind: 'message', key: toMessageKey(delivery), life: String(delivery.since), part: 'b' },
});
