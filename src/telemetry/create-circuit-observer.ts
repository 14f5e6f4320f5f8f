import type { Logger } from 'pino';
import type { CircuitObserver, CircuitState } from '../executor/circuit/circuit-observer.ts';
import type { Metrics } from './metrics.ts';

const LEVELS = { closed: 0, half_open: 1, open: 2 } as const satisfies Record<CircuitState, number>;

/** A gauge of the circuits of each tool, the one it shares with its upstream's others among them, and one log line per change. */
export const createCircuitObserver = (options: {
  readonly metrics: Pick<Metrics, 'circuitState' | 'toolNames'>;
  readonly log: Logger;
  /** The tools whose calls go to the upstream of that name; none where it is no upstream's. */
  readonly toolsOf: (upstream: string) => readonly string[];
}): CircuitObserver => {
  const { metrics, log, toolsOf } = options;
  // Many circuits have no state in common.
  const hasSeries = (tool: string): boolean => metrics.toolNames.labelOf(tool) === tool;
  return {
    circuitChanged: (name, state) => {
      const shared = toolsOf(name);
      const tools = shared.length === 0 ? [name] : shared;
      for (const tool of tools.filter(hasSeries)) metrics.circuitState({ tool }).count = LEVELS[state];
      const whose = shared.length === 0 ? { tool: name } : { upstream: name };
      log[state === 'open' ? 'warn' : 'info']({ ...whose, state }, 'circuit changed');
    },
  };
};
