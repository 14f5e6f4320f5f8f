/**
 * The steps a session store takes, `rate`: a request of a caller is counted, `page`: the token of a page, `webhook`: a
 * message on its way, `pending`: a pending call, and `space`: what is kept is counted, and the oldest of it dropped.
 */
export type StoreOperation =
  | 'connect'
  | 'admit'
  | 'settle'
  | 'read'
  | 'end'
  | 'reset'
  | 'late'
  | 'keyed'
  | 'pending'
  | 'rate'
  | 'page'
  | 'webhook'
  | 'space';

/** Watches the session store: how long it takes, why it fails, whether it serves. Must not throw. */
export type StoreObserver = {
  readonly operationEnded: (operation: StoreOperation, durationMs: number) => void;
  readonly operationFailed: (operation: StoreOperation, error: unknown) => void;
  readonly availabilityChanged: (state: 'up' | 'down') => void;
};

/** What of a shared store is dear and can be lost: journals of sessions, and results kept under an Idempotency-Key. */
export type Droppable = 'journal' | 'result';

/** How full a shared store is, in bytes. `max` is 0 where the store has no limit or does not tell it. */
export type StoreFill = {
  /** Of the fullest server. */
  readonly used: number;
  readonly max: number;
  /** What could be dropped, of all servers, and how much of that may be kept. */
  readonly droppable: number;
  readonly droppableMax: number;
};

/** Watches the space of a shared store. Must not throw. */
export type SpaceObserver = {
  readonly filled: (fill: StoreFill) => void;
  /** The oldest of these were dropped. */
  readonly dropped: (what: Droppable, count: number) => void;
  /** Was not kept: its tenant holds its part, or the store is nearly full. */
  readonly refused: (what: Droppable, tenant: string) => void;
  /** What a tenant has kept comes to more than nine tenths of its part, in bytes. */
  readonly tenantFull: (tenant: string, bytes: number, part: number) => void;
};
