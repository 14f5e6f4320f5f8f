import type { ToolOutcome } from '../executor/session-store.ts';
import type { AdmittedTool } from './admit-round.ts';
import { type Claim, expireClaims, refresh, type SessionState, toolState } from './budget-state.ts';

const MAX_ERROR_LENGTH = 200;

/**
 * Settles a round: failed → a retry is used; succeeded → it is returned and, where nobody failed since, the tool is
 * clean; neither → it is returned; interrupted → it is left to its lease. Changes `session`. This is rule 2 of the
 * retry budget; settle.lua is its twin.
 */
export const settleRound = (
  session: SessionState,
  outcomes: readonly ToolOutcome[],
  admitted: ReadonlyMap<string, AdmittedTool>,
  now: number,
): void => {
  expireClaims(session, now);
  for (const outcome of outcomes) {
    const terms = admitted.get(outcome.name);
    if (terms === undefined || terms.permit.decision === 'denied' || terms.permit.decision === 'unavailable') continue;
    settleTool(session, outcome, terms, now);
  }
  session.claims = session.claims.filter((claim) => claim.running > 0 || claim.joinUntil > now);
};

const settleTool = (session: SessionState, outcome: ToolOutcome, terms: AdmittedTool, now: number): void => {
  if (outcome.interrupted && !outcome.failed && !outcome.succeeded) return;
  const claim = session.claims.find(({ id, tool }) => id === terms.claimId && tool === outcome.name);
  if (claim === undefined) {
    settleUnclaimed(session, outcome, terms, now);
    return;
  }
  claim.running = Math.max(0, claim.running - 1);
  claim.failed ||= outcome.failed;
  claim.succeeded ||= outcome.succeeded;
  const verdict = toVerdict(claim);
  if (verdict === claim.applied || (verdict === 'failed' && claim.applied === 'void')) return;
  undo(session, claim);
  apply(session, claim, verdict, outcome.error, now);
};

// No claim: a first attempt without a name, or a retry that settles after its lease. The lost token of the latter is
// known now to be used.
const settleUnclaimed = (session: SessionState, outcome: ToolOutcome, terms: AdmittedTool, now: number): void => {
  const late = terms.permit.decision === 'retry';
  if (outcome.failed && !outcome.succeeded) {
    countFailure(session, outcome.name, outcome.error, now);
    if (!late) return;
    toolState(session, outcome.name).used += 1;
    session.lost = Math.max(0, session.lost - 1);
  }
  const clean = outcome.succeeded && !outcome.failed;
  if (clean && late && toolState(session, outcome.name).epoch === terms.epoch) refresh(session, outcome.name);
};

const toVerdict = (claim: Claim): 'none' | 'failed' | 'succeeded' => {
  if (claim.failed === claim.succeeded) return 'none';
  return claim.failed ? 'failed' : 'succeeded';
};

const countFailure = (session: SessionState, name: string, error: string, now: number): void => {
  const state = toolState(session, name);
  state.failures += 1;
  state.epoch += 1;
  state.failedAt = now;
  state.lastError = error.slice(0, MAX_ERROR_LENGTH);
};

const apply = (
  session: SessionState,
  claim: Claim,
  verdict: 'none' | 'failed' | 'succeeded',
  error: string,
  now: number,
): void => {
  const state = toolState(session, claim.tool);
  claim.applied = verdict;
  if (verdict === 'failed') {
    countFailure(session, claim.tool, error, now);
    if (claim.retry) state.used += 1;
  }
  // A success that began before somebody else's failure must not wipe it.
  if (verdict !== 'succeeded' || !claim.retry || claim.epoch !== state.epoch) return;
  const { failures, used } = state;
  refresh(session, claim.tool);
  claim.wipedFailures = failures;
  claim.wipedUsed = used;
};

const undo = (session: SessionState, claim: Claim): void => {
  const state = toolState(session, claim.tool);
  if (claim.applied === 'failed') {
    state.failures = Math.max(0, state.failures - 1);
    if (claim.retry) state.used = Math.max(0, state.used - 1);
  }
  if (claim.applied === 'succeeded') {
    state.failures += claim.wipedFailures;
    state.used += claim.wipedUsed;
    claim.wipedFailures = 0;
    claim.wipedUsed = 0;
  }
};
