export type CircuitState = 'closed' | 'open' | 'half_open';

/** Watches circuit breakers. Must not throw. */
export type CircuitObserver = {
  /** The worst state of any of the circuits of a tool, or of an upstream that tools share, is another one now. */
  readonly circuitChanged: (tool: string, state: CircuitState) => void;
};
