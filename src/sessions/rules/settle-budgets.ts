import type { ToolOutcome } from '../../executor/session-store.ts';
import { type AdmittedTool, isLetIn } from './admit-budgets.ts';
import {
  type BudgetState,
  type Claim,
  dropEndedClaims,
  expireClaims,
  refresh,
  type ToolState,
  toolState,
} from './budget-state.ts';

const MAX_ERROR_LENGTH = 200;

/** What is kept of a failure's text: at most 200 characters, none of them half of one. */
export const toErrorLine = (error: string): string => error.slice(0, MAX_ERROR_LENGTH).toWellFormed();

/** Whether settling this outcome can change a budget: not where nothing was held and nothing failed. */
export const isWorthSettling = (
  { failed, succeeded, interrupted }: ToolOutcome,
  holds: 'a claim' | 'nothing',
): boolean => (holds === 'nothing' ? failed && !succeeded : failed || succeeded || !interrupted);

/**
 * Settles a round: failed → a retry is used; succeeded → it is returned and, where nobody failed since, the tool is
 * clean; neither → it is returned; interrupted → it is left to its lease. Changes `session`. This is rule 2 of the
 * retry budget; settle-budgets.lua is its twin.
 */
export const settleBudgets = (
  session: BudgetState,
  outcomes: readonly ToolOutcome[],
  admitted: ReadonlyMap<string, AdmittedTool>,
  now: number,
): void => {
  expireClaims(session, now);
  for (const outcome of outcomes) {
    const terms = admitted.get(outcome.name);
    if (terms !== undefined && isLetIn(terms)) settleTool(session, outcome, terms, now);
  }
};

const settleTool = (session: BudgetState, outcome: ToolOutcome, terms: AdmittedTool, now: number): void => {
  if (!isWorthSettling(outcome, terms.claimId === null ? 'nothing' : 'a claim')) return;
  const tool = toolState(session, outcome.name);
  const claim = tool.claims.find(({ id }) => id === terms.claimId);
  if (claim === undefined) {
    settleUnclaimed(session, outcome, terms, now);
    return;
  }
  claim.running = Math.max(0, claim.running - 1);
  claim.failed ||= outcome.failed;
  claim.succeeded ||= outcome.succeeded;
  const verdict = toVerdict(claim);
  const isCounted = verdict === claim.applied || (verdict === 'failed' && claim.applied === 'void');
  if (!isCounted) {
    undo(tool, claim);
    apply(tool, claim, verdict, outcome.error, now);
  }
  dropEndedClaims(tool, now);
};

// No claim: a first attempt without a name, or a batch that settles after its lease and is a round of its own now. A
// retry that the lease took for lost is known here to be used.
const settleUnclaimed = (session: BudgetState, outcome: ToolOutcome, terms: AdmittedTool, now: number): void => {
  const tool = toolState(session, outcome.name);
  const late = terms.permit.decision === 'retry';
  if (outcome.failed && !outcome.succeeded) {
    countFailure(tool, outcome.error, now);
    if (!late) return;
    tool.used += 1;
    session.lost = Math.max(0, session.lost - 1);
  }
  const clean = outcome.succeeded && !outcome.failed;
  if (clean && late && tool.epoch === terms.epoch) refresh(tool, '');
};

const toVerdict = (claim: Claim): 'none' | 'failed' | 'succeeded' => {
  if (claim.failed === claim.succeeded) return 'none';
  return claim.failed ? 'failed' : 'succeeded';
};

const countFailure = (tool: ToolState, error: string, now: number): void => {
  tool.failures += 1;
  tool.epoch += 1;
  tool.failedAt = now;
  tool.lastError = toErrorLine(error);
};

const apply = (
  tool: ToolState,
  claim: Claim,
  verdict: 'none' | 'failed' | 'succeeded',
  error: string,
  now: number,
): void => {
  claim.applied = verdict;
  claim.wipedBy = '';
  if (verdict === 'failed') {
    countFailure(tool, error, now);
    claim.charged = claim.retry ? 1 : 0;
    tool.used += claim.charged;
  }
  // A success that began before somebody else's failure must not wipe it.
  if (verdict !== 'succeeded' || !claim.retry || claim.epoch !== tool.epoch) return;
  const { failures, used } = tool;
  refresh(tool, claim.id);
  claim.wipedFailures = failures;
  claim.wipedUsed = used;
};

// The round has turned out mixed: what its verdict did is taken back.
const undo = (tool: ToolState, claim: Claim): void => {
  if (claim.applied === 'failed') {
    tool.failures = Math.max(0, tool.failures - 1);
    tool.used = Math.max(0, tool.used - claim.charged);
  }
  if (claim.applied === 'succeeded') restore(tool, claim);
  const wiper = tool.claims.find(({ id }) => claim.applied === 'void' && id === claim.wipedBy);
  if (wiper === undefined) return;
  wiper.wipedFailures = Math.max(0, wiper.wipedFailures - 1);
  wiper.wipedUsed = Math.max(0, wiper.wipedUsed - claim.charged);
};

const restore = (tool: ToolState, claim: Claim): void => {
  tool.failures += claim.wipedFailures;
  tool.used += claim.wipedUsed;
  claim.wipedFailures = 0;
  claim.wipedUsed = 0;
  for (const wiped of tool.claims.filter(({ wipedBy }) => wipedBy === claim.id)) {
    wiped.applied = 'failed';
    wiped.wipedBy = '';
  }
};
