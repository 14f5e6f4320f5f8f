/** The steps a session store takes, and `rate`: a request of a caller is counted. */
export type StoreOperation = 'connect' | 'admit' | 'settle' | 'read' | 'end' | 'reset' | 'late' | 'keyed' | 'rate';

/** Watches the session store: how long it takes, why it fails, whether it serves. Must not throw. */
export type StoreObserver = {
  readonly operationEnded: (operation: StoreOperation, durationMs: number) => void;
  readonly operationFailed: (operation: StoreOperation, error: unknown) => void;
  readonly availabilityChanged: (state: 'up' | 'down') => void;
};
