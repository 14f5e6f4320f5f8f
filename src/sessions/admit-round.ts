import { type Budget, type BudgetSettings, type Permit, type Round, UNKNOWN_TOOL } from '../executor/session-store.ts';
import {
  type Claim,
  expireClaims,
  isOpen,
  openRetries,
  refresh,
  type SessionState,
  spentRetries,
  toolState,
} from './budget-state.ts';

/** A permit and what settling will need of it: the claim (if one was made) and the epoch at admission. */
export type AdmittedTool = { readonly permit: Permit; readonly claimId: string | null; readonly epoch: number };

type Asked = { readonly name: string; readonly retries: number };

/**
 * Lets a round in, tool by tool in batch order: no failure standing → free; a retry left in the tool and in the
 * session → reserved; else denied. Changes `session`. This is rule 1 of the retry budget; admit.lua is its twin.
 */
export const admitRound = (
  session: SessionState,
  round: Round,
  settings: BudgetSettings,
  now: number,
): ReadonlyMap<string, AdmittedTool> => {
  expireClaims(session, now);
  forgiveUnknownNames(session, round);
  return new Map(round.tools.map((tool) => [tool.name, admitTool(session, round, tool, settings, now)]));
};

const admitTool = (
  session: SessionState,
  round: Round,
  tool: Asked,
  settings: BudgetSettings,
  now: number,
): AdmittedTool => {
  const { failures, failedAt, epoch } = toolState(session, tool.name);
  const joined = findJoinable(session, round, tool.name, now);
  const blocked = joined === undefined ? failures > 0 && !hasRetryLeft(session, tool, settings) : true;
  if (joined !== undefined && mayJoin(session, joined, tool, settings)) {
    join(joined, now + round.leaseMs);
    return admitted(session, tool, settings, { retry: joined.retry, epoch, claimId: joined.id });
  }
  if (blocked && !hasCooled(failedAt, settings, now)) {
    const denial = toDenial(session, tool);
    return { permit: { decision: 'denied', denial, budget: toBudget(session, tool, settings) }, claimId: null, epoch };
  }
  if (blocked) refresh(session, tool.name);
  const retry = toolState(session, tool.name).failures > 0;
  const claims = retry || round.roundId !== null;
  if (claims) makeClaim(session, round, tool.name, { retry, epoch }, now);
  return admitted(session, tool, settings, { retry, epoch, claimId: claims ? round.batchId : null });
};

const admitted = (
  session: SessionState,
  tool: Asked,
  settings: BudgetSettings,
  terms: { readonly retry: boolean; readonly epoch: number; readonly claimId: string | null },
): AdmittedTool => ({
  permit: { decision: terms.retry ? 'retry' : 'free', budget: toBudget(session, tool, settings) },
  claimId: terms.claimId,
  epoch: terms.epoch,
});

const join = (claim: Claim, lease: number): void => {
  claim.running += 1;
  claim.lease = Math.max(claim.lease, lease);
};

const findJoinable = (session: SessionState, round: Round, name: string, now: number): Claim | undefined =>
  session.claims.find(({ tool, round: of, joinUntil }) => tool === name && of === round.roundId && joinUntil > now);

const makeClaim = (
  session: SessionState,
  round: Round,
  tool: string,
  terms: Pick<Claim, 'retry' | 'epoch'>,
  now: number,
): void => {
  const lease = now + round.leaseMs;
  session.claims.push({
    ...terms,
    id: round.batchId,
    tool,
    round: round.roundId ?? '',
    joinUntil: round.roundId === null ? 0 : lease,
    lease,
    running: 1,
    failed: false,
    succeeded: false,
    applied: 'none',
    wipedFailures: 0,
    wipedUsed: 0,
  });
};

// A batch of a round that is under way takes over its reservation. One whose retry has come back must find it free.
const mayJoin = (session: SessionState, claim: Claim, tool: Asked, settings: BudgetSettings): boolean =>
  !claim.retry || isOpen(claim) || claim.applied === 'failed' || hasRetryLeft(session, tool, settings);

const hasRetryLeft = (session: SessionState, tool: Asked, settings: BudgetSettings): boolean =>
  toolState(session, tool.name).used + openRetries(session, tool.name) < tool.retries &&
  spentRetries(session) < settings.sessionRetries;

const hasCooled = (failedAt: number, settings: BudgetSettings, now: number): boolean =>
  settings.cooldownMs > 0 && now - failedAt >= settings.cooldownMs;

const toDenial = (session: SessionState, tool: Asked): 'tool' | 'running' | 'session' => {
  if (toolState(session, tool.name).used >= tool.retries) return 'tool';
  return openRetries(session, tool.name) > 0 ? 'running' : 'session';
};

/** What is left for a tool, in the tool and in the session. */
export const toBudget = (session: SessionState, tool: Asked, settings: BudgetSettings): Budget => {
  const state = toolState(session, tool.name);
  const ofTool = Math.max(0, tool.retries - state.used - openRetries(session, tool.name));
  const ofSession = Math.max(0, settings.sessionRetries - spentRetries(session));
  return {
    failures: state.failures,
    limit: tool.retries,
    used: state.used,
    remaining: Math.min(ofTool, ofSession),
    limitedBy: ofSession < ofTool ? 'session' : 'tool',
    lastError: state.lastError,
  };
};

// A round that names only known tools clears the bucket of unknown names. A named round is known to do so only when
// the next one begins.
const forgiveUnknownNames = (session: SessionState, round: Round): void => {
  if (round.tools.length === 0) return;
  const name = round.roundId ?? '';
  const knows = !round.tools.some((tool) => tool.name === UNKNOWN_TOOL);
  if (!knows && name !== '') session.unknownRound = name;
  if (!session.tools.get(UNKNOWN_TOOL)?.failures) return;
  if (hasEnded(session.knownRound, name) || (knows && name === '')) refresh(session, UNKNOWN_TOOL);
  session.knownRound = knows && session.unknownRound !== name ? name : '';
};

const hasEnded = (knownRound: string, present: string): boolean => knownRound !== '' && knownRound !== present;
