import type { CircuitObserver, CircuitState } from './circuit-observer.ts';

/** Adds up the circuits of each tool. */
export type ToolStates = {
  /** One of the tool's circuits went from one state to another. */
  readonly moved: (tool: string, from: CircuitState, to: CircuitState) => void;
};

/** A tool's circuits that are not closed. */
type Counts = Record<Exclude<CircuitState, 'closed'>, number>;

/** Tells the observer of the worst state of any of a tool's circuits, each time it is another one. */
export const createToolStates = (observer: CircuitObserver): ToolStates => {
  const tools = new Map<string, Counts>();
  return {
    moved: (tool, from, to) => {
      const counts = tools.get(tool) ?? { half_open: 0, open: 0 };
      const before = worstOf(counts);
      if (from !== 'closed') counts[from] -= 1;
      if (to !== 'closed') counts[to] += 1;
      const after = worstOf(counts);
      if (after === 'closed') tools.delete(tool);
      else tools.set(tool, counts);
      if (after !== before) observer.circuitChanged(tool, after);
    },
  };
};

const worstOf = ({ open, half_open: halfOpen }: Counts): CircuitState => {
  if (open > 0) return 'open';
  return halfOpen > 0 ? 'half_open' : 'closed';
};
