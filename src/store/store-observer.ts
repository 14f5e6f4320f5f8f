/**
 * What the store is asked for. `admit` and `settle`: a round of a session begins, and ends, `keyed`: an idempotency record,
 * `pending`: a pending call, `page`: the token of a page, `webhook`: a message on its way, `rate`: a request of a caller is
 * counted, `oncall`: what people on call read is written, `read`: anything is looked up, `space`: how full it is, and `connect`: whether it serves at all.
 */
export const STORE_OPERATIONS = [
  ...([
    'connect',
    'admit',
    'settle',
    'read',
    'keyed',
    'pending',
    'rate',
    'page',
    'webhook',
    'space',
    'oncall',
  ] as const),
];
export type StoreOperation = (typeof STORE_OPERATIONS)[number];

/** Watches the store: how long it takes, why it fails, whether it serves. Must not throw. */
export type StoreObserver = {
  readonly operationEnded: (operation: StoreOperation, durationMs: number) => void;
  readonly operationFailed: (operation: StoreOperation, error: unknown) => void;
  readonly availabilityChanged: (state: 'up' | 'down') => void;
};

/**
 * What is not written to a store that fills, from so many percent of its space on: journals of sessions, results kept under an
 * Idempotency-Key, results of pending calls and of batches that asked for them, pending calls with their arguments, and messages for
 * webhook endpoints, lists for people on call. What is left is for marks, budgets, leases and ends.
 */
export const KEPT_BELOW_PERCENT = {
  journals: 75,
  results: 75,
  pending_results: 85,
  arguments: 85,
  deliveries: 85,
  index: 75,
} as const;
export type Keepable = keyof typeof KEPT_BELOW_PERCENT;

/** How full a store is, in bytes; of several servers, the fullest. */
export type StoreFill = {
  readonly used: number;
  readonly max: number;
  readonly servers: number;
  /** What Redis does when it is full; null where it does not tell, or the store is another one. */
  readonly policy: string | null;
};

/** Watches the space of a store. Must not throw. */
export type SpaceObserver = {
  readonly filled: (fill: StoreFill) => void;
  /** `of`: whether the tenant has no more room, or the store; '' where what was not kept is of no tenant alone. */
  readonly notKept: (what: Keepable, of: 'tenant' | 'store', tenant: string) => void;
};
