import type { AskedTool, Budget, Denial, Permit, Round, SessionSettings } from '../../executor/session-store.ts';
import {
  type BudgetState,
  type Claim,
  createClaim,
  findJoinable,
  findTool,
  heldRetries,
  isOpen,
  openRetries,
  refresh,
  spentRetries,
  type ToolState,
} from './budget-state.ts';

/** A permit and what settling will need of it: the claim (if one was made) and the epoch at admission. */
export type AdmittedTool = { readonly permit: Permit; readonly claimId: string | null; readonly epoch: number };

/** What a tool's budget says of a round: no, join the claim that the round has, or begin. */
export type Assessment = { readonly asked: AskedTool; readonly tool: ToolState } & (
  | { readonly kind: 'denied'; readonly denial: Denial }
  | { readonly kind: 'join'; readonly claim: Claim }
  | { readonly kind: 'begin' }
);

type Admitting = {
  readonly round: Round;
  readonly settings: SessionSettings;
  readonly now: number;
  /** What the session has spent so far, and what this round's earlier tools are about to. */
  readonly spent: number;
};

/**
 * Asks the budgets, tool by tool in batch order: no failure standing → may begin; a retry left in the tool and in the
 * session → may begin; else denied. `mayRun` says whether a tool has a call to run, as far as the tools that were asked
 * before it and let in are known. Reserves nothing, but makes fresh what has cooled down. This is rule 1 of the retry
 * budget; admit-budgets.lua is its twin.
 */
export const assessTools = (
  session: BudgetState,
  round: Round,
  mayRun: (tool: string, letIn: ReadonlySet<string>) => boolean,
  terms: Pick<Admitting, 'settings' | 'now'>,
): readonly Assessment[] => {
  let spent = spentRetries(session);
  const letIn = new Set<string>();
  return round.tools.map((asked) => {
    const tool = findTool(session, asked.name);
    const before = heldRetries(tool);
    const assessment = assessTool(tool, asked, { ...terms, round, spent });
    spent += heldRetries(tool) - before + (mayRun(asked.name, letIn) ? retriesNeeded(assessment) : 0);
    if (assessment.kind !== 'denied') letIn.add(asked.name);
    return assessment;
  });
};

/** Takes what the assessment found free: joins the round's claim or makes one. Changes `session`. */
export const takeRetry = (
  session: BudgetState,
  assessment: Assessment,
  round: Round,
  now: number,
): AdmittedDecision => {
  const { asked, tool } = assessment;
  if (assessment.kind === 'denied') return { decision: 'denied', denial: assessment.denial, claimId: null };
  if (assessment.kind === 'join') return joinClaim(tool, assessment.claim, now + round.leaseMs);
  const retry = tool.failures > 0;
  if (!retry && round.roundId === null) return { decision: 'free', claimId: null };
  tool.claims.push(createClaim(round, { retry, epoch: tool.epoch, running: 1 }, now));
  session.tools.set(asked.name, tool);
  return { decision: retry ? 'retry' : 'free', claimId: round.batchId };
};

/** What a tool gets of which limits and loop guard left nothing to run. Reserves nothing. */
export const takeNothing = (assessment: Assessment): AdmittedDecision => {
  if (assessment.kind === 'denied') return { decision: 'denied', denial: assessment.denial, claimId: null };
  return { decision: assessment.tool.failures > 0 ? 'idle' : 'free', claimId: null };
};

export type AdmittedDecision =
  | { readonly decision: 'free' | 'retry' | 'idle'; readonly claimId: string | null }
  | { readonly decision: 'denied'; readonly denial: Denial; readonly claimId: null };

/** Whether the round may use the tool: what is said of one that it may not use settles nothing. */
export const isLetIn = (tool: AdmittedTool | undefined): boolean =>
  tool?.permit.decision === 'free' || tool?.permit.decision === 'retry';

/** The permits as the round reads them. */
export const toPermits = (tools: ReadonlyMap<string, AdmittedTool>): ReadonlyMap<string, Permit> =>
  new Map(Array.from(tools, ([name, { permit }]) => [name, permit]));

/** The decision as the round reads it. */
export const toPermit = (decided: AdmittedDecision, budget: Budget): Permit =>
  decided.decision === 'denied'
    ? { decision: 'denied', denial: decided.denial, budget }
    : { decision: decided.decision, budget };

/** What is left for a tool, in itself and in a session that has `sessionLeft` retries left. */
export const toBudget = (tool: ToolState, retries: number, sessionLeft: number): Budget => {
  const ofTool = Math.max(0, retries - heldRetries(tool));
  const ofSession = Math.max(0, sessionLeft);
  return {
    failures: tool.failures,
    limit: retries,
    used: tool.used,
    remaining: Math.min(ofTool, ofSession),
    limitedBy: ofSession < ofTool ? 'session' : 'tool',
    lastError: tool.failures > 0 ? tool.lastError : '',
  };
};

const assessTool = (tool: ToolState, asked: AskedTool, admitting: Admitting): Assessment => {
  const claim = findOpenRound(tool, asked, admitting);
  if (claim !== undefined) return { asked, tool, kind: 'join', claim };
  const denial = refuse(tool, asked, admitting);
  return denial === null ? { asked, tool, kind: 'begin' } : { asked, tool, kind: 'denied', denial };
};

const holdsRetry = (claim: Claim): boolean => isOpen(claim) || claim.applied === 'failed';

// A batch of a round that is under way takes over its reservation. What came back, or was never held, is held anew, and
// must be there.
const findOpenRound = (tool: ToolState, asked: AskedTool, admitting: Admitting): Claim | undefined => {
  const claim = findJoinable(tool, admitting.round, admitting.now);
  if (claim === undefined || retriesToJoin(tool, claim) === 0) return claim;
  return hasRetryLeft(tool, asked, admitting) ? claim : undefined;
};

const retriesToJoin = (tool: ToolState, claim: Claim): number =>
  claim.retry && !holdsRetry(claim) && tool.failures > 0 ? 1 : 0;

const retriesNeeded = (assessment: Assessment): number => {
  if (assessment.kind === 'denied') return 0;
  if (assessment.kind === 'join') return retriesToJoin(assessment.tool, assessment.claim);
  return assessment.tool.failures > 0 ? 1 : 0;
};

const joinClaim = (tool: ToolState, claim: Claim, lease: number): AdmittedDecision => {
  // Where nothing stands the round goes on free.
  if (!holdsRetry(claim) && tool.failures === 0) claim.retry = false;
  claim.running += 1;
  claim.lease = Math.max(claim.lease, lease);
  return { decision: claim.retry ? 'retry' : 'free', claimId: claim.id };
};

// Null where no failure stands, a retry is left, or what was exhausted has cooled down and is made fresh. While a
// retry runs nothing is exhausted yet: its end decides.
const refuse = (tool: ToolState, asked: AskedTool, admitting: Admitting): Denial | null => {
  const { round, now } = admitting;
  if (tool.failures === 0 || hasRetryLeft(tool, asked, admitting)) return null;
  const denial = toDenial(tool, asked);
  if (denial === 'running' || !hasCooled(tool, admitting)) return denial;
  const former = findJoinable(tool, round, now);
  refresh(tool, '');
  tool.claims = tool.claims.filter((claim) => claim !== former);
  return null;
};

const hasRetryLeft = (tool: ToolState, asked: AskedTool, { settings, spent }: Admitting): boolean =>
  heldRetries(tool) < asked.retries && spent < settings.sessionRetries;

const hasCooled = ({ failedAt }: ToolState, { settings, now }: Admitting): boolean =>
  settings.cooldownMs > 0 && now - failedAt >= settings.cooldownMs;

const toDenial = (tool: ToolState, asked: AskedTool): Denial => {
  if (tool.used >= asked.retries) return 'tool';
  return openRetries(tool) > 0 ? 'running' : 'session';
};
