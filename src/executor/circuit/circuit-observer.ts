export type CircuitState = 'closed' | 'open' | 'half_open';

/** Watches circuit breakers. Must not throw. */
export type CircuitObserver = {
  /** The worst state of any of the tool's circuits is another one now. */
  readonly circuitChanged: (tool: string, state: CircuitState) => void;
};
