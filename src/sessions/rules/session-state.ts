import type { BudgetState } from './budget-state.ts';
import type { ToolStreaks } from './loop-guard.ts';

/** A named round that further batches may join. */
export type NamedRound = { readonly id: string; readonly step: number; readonly joinUntil: number };

/** All that counts in a session; its journal is kept apart. `born` names this life of the session. */
export type SessionState = BudgetState & {
  readonly born: string;
  rounds: number;
  /** Calls that run, ran, or may have run. */
  calls: number;
  /** The same of each tool that limits its calls. */
  readonly callsOf: Map<string, number>;
  /** Oldest first. */
  namedRounds: readonly NamedRound[];
  readonly streaks: Map<string, ToolStreaks>;
};

export const createSessionState = (born: string): SessionState => ({
  born,
  tools: new Map(),
  lost: 0,
  knownRound: '',
  rounds: 0,
  calls: 0,
  callsOf: new Map(),
  namedRounds: [],
  streaks: new Map(),
});
