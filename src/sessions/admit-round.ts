import {
  type Budget,
  type BudgetSettings,
  type Denial,
  type Permit,
  type Round,
  UNKNOWN_TOOL,
} from '../executor/session-store.ts';
import {
  type Claim,
  expireClaims,
  heldRetries,
  isOpen,
  openRetries,
  refresh,
  type SessionState,
  spentRetries,
  type ToolState,
  toolState,
} from './budget-state.ts';

/** A permit and what settling will need of it: the claim (if one was made) and the epoch at admission. */
export type AdmittedTool = { readonly permit: Permit; readonly claimId: string | null; readonly epoch: number };

type Asked = { readonly name: string; readonly retries: number };
type Admitting = {
  readonly round: Round;
  readonly settings: BudgetSettings;
  readonly now: number;
  /** What the session has spent so far, this round's earlier tools included. */
  readonly spent: number;
};
type Decision =
  | { readonly decision: 'free' | 'retry'; readonly claimId: string | null }
  | { readonly decision: 'denied'; readonly denial: Denial; readonly claimId: null };

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
  forgiveUnknownNames(session, round, now);
  let spent = spentRetries(session);
  const decisions = round.tools.map((asked) => {
    const tool = toolState(session, asked.name);
    const before = heldRetries(tool);
    const decided = admitTool(tool, asked, { round, settings, now, spent });
    spent += heldRetries(tool) - before;
    return { asked, tool, decided };
  });
  return new Map(
    decisions.map(({ asked, tool, decided }) => {
      const budget = toBudget(tool, asked.retries, settings.sessionRetries - spent);
      return [asked.name, toAdmitted(decided, budget, tool.epoch)];
    }),
  );
};

const toAdmitted = (decided: Decision, budget: Budget, epoch: number): AdmittedTool => {
  const { claimId } = decided;
  if (decided.decision !== 'denied') return { permit: { decision: decided.decision, budget }, claimId, epoch };
  return { permit: { decision: 'denied', denial: decided.denial, budget }, claimId, epoch };
};

const admitTool = (tool: ToolState, asked: Asked, admitting: Admitting): Decision => {
  const { round, now } = admitting;
  const joined = findJoinable(tool, round, now);
  if (joined !== undefined && mayJoin(tool, joined, asked, admitting)) {
    joined.running += 1;
    joined.lease = Math.max(joined.lease, now + round.leaseMs);
    return { decision: joined.retry ? 'retry' : 'free', claimId: joined.id };
  }
  const isBlocked = joined !== undefined || (tool.failures > 0 && !hasRetryLeft(tool, asked, admitting));
  if (isBlocked) {
    const denial = toDenial(tool, asked);
    if (denial === 'running' || !hasCooled(tool, admitting)) return deny(tool, asked, denial, admitting);
    refresh(tool, '');
    tool.claims = tool.claims.filter((claim) => claim !== joined);
  }
  const retry = tool.failures > 0;
  const claims = retry || round.roundId !== null;
  if (claims) tool.claims.push(createClaim(round, { retry, epoch: tool.epoch, running: 1 }, now));
  return { decision: retry ? 'retry' : 'free', claimId: claims ? round.batchId : null };
};

// A refused round that named an unknown tool has named it all the same: remembered by a claim that holds nothing.
const deny = (tool: ToolState, asked: Asked, denial: Denial, { round, now }: Admitting): Decision => {
  if (asked.name === UNKNOWN_TOOL && round.roundId !== null && findJoinable(tool, round, now) === undefined)
    tool.claims.push(createClaim(round, { retry: true, epoch: tool.epoch, running: 0 }, now));
  return { decision: 'denied', denial, claimId: null };
};

const findJoinable = (tool: ToolState, { roundId }: Round, now: number): Claim | undefined =>
  roundId === null ? undefined : tool.claims.find(({ round, joinUntil }) => round === roundId && joinUntil > now);

const createClaim = (round: Round, terms: Pick<Claim, 'retry' | 'epoch' | 'running'>, now: number): Claim => {
  const lease = now + round.leaseMs;
  return {
    ...terms,
    id: round.batchId,
    round: round.roundId ?? '',
    joinUntil: round.roundId === null ? 0 : lease,
    lease,
    failed: false,
    succeeded: false,
    applied: 'none',
    wipedBy: '',
    wipedFailures: 0,
    wipedUsed: 0,
  };
};

// A batch of a round that is under way takes over its reservation. One whose retry has come back must find it free,
// unless nothing stands against the tool any more.
const mayJoin = (tool: ToolState, claim: Claim, asked: Asked, admitting: Admitting): boolean =>
  !claim.retry ||
  isOpen(claim) ||
  claim.applied === 'failed' ||
  tool.failures === 0 ||
  hasRetryLeft(tool, asked, admitting);

const hasRetryLeft = (tool: ToolState, asked: Asked, { settings, spent }: Admitting): boolean =>
  heldRetries(tool) < asked.retries && spent < settings.sessionRetries;

const hasCooled = ({ failedAt }: ToolState, { settings, now }: Admitting): boolean =>
  settings.cooldownMs > 0 && now - failedAt >= settings.cooldownMs;

const toDenial = (tool: ToolState, asked: Asked): Denial => {
  if (tool.used >= asked.retries) return 'tool';
  return openRetries(tool) > 0 ? 'running' : 'session';
};

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

// A round that names only known tools clears the bucket of unknown names. A named round is known to do so only when
// the next one begins.
const forgiveUnknownNames = (session: SessionState, round: Round, now: number): void => {
  if (round.tools.length === 0) return;
  const unknown = session.tools.get(UNKNOWN_TOOL);
  const name = round.roundId ?? '';
  const { knownRound } = session;
  session.knownRound = '';
  if (unknown === undefined || unknown.failures === 0) return;
  const knows = !round.tools.some((tool) => tool.name === UNKNOWN_TOOL);
  if ((knownRound !== '' && knownRound !== name) || (knows && name === '')) refresh(unknown, '');
  if (knows && findJoinable(unknown, round, now) === undefined) session.knownRound = name;
};
