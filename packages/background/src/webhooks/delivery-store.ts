/** A message on its way to one endpoint. */
export type Delivery = {
  /** `webhook-id`, the same in every attempt. */
  readonly id: string;
  readonly endpoint: string;
  readonly tenant: string;
  /** One line of JSON, sent byte for byte the same in every attempt. */
  readonly body: string;
  /** When its event happened by the store's clock, in Unix milliseconds. */
  readonly since: number;
  /** `never`: of several messages of this id within a day the first is kept, also when it was delivered before the others. */
  readonly repeats?: 'never';
};

/** A delivery that is this process's for the time of its lease. */
export type ClaimedDelivery = Delivery & {
  /** When its lease ends, by the clock of the store. */
  readonly dueAt: number;
  /** Which attempt this is, the first being 1. An attempt whose process died counts. */
  readonly attempt: number;
};

export type Claim = {
  readonly deliveries: readonly ClaimedDelivery[];
  /** Milliseconds until a message or the lease of one is due; null where there is none. */
  readonly nextMs: number | null;
  /** How many messages of the endpoint wait, the claimed ones included. */
  readonly waiting: number;
  /** The version of the endpoint that wants no more messages; null where there is none. */
  readonly disabled: string | null;
};

/**
 * `full`: too many messages of the endpoint or the tenant wait. `no_part`: the tenant keeps as much in the store as it may.
 * `no_room`: the store is nearly full.
 */
export type Added = 'kept' | 'full' | 'no_part' | 'no_room';

/** Keeps messages until they are delivered or given up. Times are the store's own, so that processes may disagree about the time. */
export type DeliveryStore = {
  /** Keeps a message that is due at once. */
  readonly add: (delivery: Delivery) => Promise<Added>;
  /** Takes up to `most` messages of an endpoint that are due. No other process gets them within `leaseMs`. */
  readonly claim: (endpoint: string, most: number, leaseMs: number) => Promise<Claim>;
  /** Makes a message due again in `delayMs`, unless it was claimed again since. */
  readonly reschedule: (delivery: ClaimedDelivery, delayMs: number) => Promise<void>;
  /** The message is delivered or given up. */
  readonly remove: (delivery: ClaimedDelivery) => Promise<void>;
  /** Marks a version of an endpoint as one that wants no more messages. */
  readonly disable: (endpoint: string, version: string) => Promise<void>;
  /** Ends the store; gives the messages that end with it. */
  readonly close: () => Promise<readonly Delivery[]>;
};
