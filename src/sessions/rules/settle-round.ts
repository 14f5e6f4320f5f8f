import type { AdmittedTool } from './admit-budgets.ts';
import { countCalls } from './call-limits.ts';
import { settleStreaks } from './loop-guard.ts';
import type { SessionState } from './session-state.ts';
import { settleBudgets } from './settle-budgets.ts';
import type { Settlement } from './settlement.ts';

/**
 * Settles a round: its budgets, its streaks, and the calls that did not run. `guardStep` is the round as the loop guard
 * knows it. Changes `session`. settle.lua is its twin.
 */
export const settleRound = (
  session: SessionState,
  { outcomes, endings, changers, unused }: Settlement,
  { tools, guardStep }: { readonly tools: ReadonlyMap<string, AdmittedTool>; readonly guardStep: number },
  now: number,
): void => {
  settleBudgets(session, outcomes, tools, now);
  settleStreaks(session.streaks, endings, changers, guardStep);
  countCalls(session, unused, -1);
};
