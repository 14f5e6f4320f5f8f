import type { Logger } from 'pino';
import type { CircuitObserver, CircuitState } from '../executor/circuit/circuit-observer.ts';
import type { Metrics } from './metrics.ts';

const LEVELS = { closed: 0, half_open: 1, open: 2 } as const satisfies Record<CircuitState, number>;

/** A gauge of the circuits of each tool, and one log line per change. */
export const createCircuitObserver = (options: {
  readonly metrics: Pick<Metrics, 'circuitState'>;
  readonly log: Logger;
}): CircuitObserver => {
  const { metrics, log } = options;
  return {
    circuitChanged: (tool, state) => {
      metrics.circuitState({ tool }).count = LEVELS[state];
      log[state === 'open' ? 'warn' : 'info']({ tool, state }, 'circuit changed');
    },
  };
};
