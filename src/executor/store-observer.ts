/** The steps a session store takes, `rate`: a request of a caller is counted, and `page`: the token of a page. */
export type StoreOperation =
  | 'connect'
  | 'admit'
  | 'settle'
  | 'read'
  | 'end'
  | 'reset'
  | 'late'
  | 'keyed'
  | 'rate'
  | 'page';

/** Watches the session store: how long it takes, why it fails, whether it serves. Must not throw. */
export type StoreObserver = {
  readonly operationEnded: (operation: StoreOperation, durationMs: number) => void;
  readonly operationFailed: (operation: StoreOperation, error: unknown) => void;
  readonly availabilityChanged: (state: 'up' | 'down') => void;
};
