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
  dropEndedClaims,
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

const admitTool = (tool: ToolState, asked: Asked, admitting: Admitting): Decision =>
  joinRound(tool, asked, admitting) ?? refuse(tool, asked, admitting) ?? begin(tool, admitting);

// A batch of a round that is under way takes over its reservation.
const joinRound = (tool: ToolState, asked: Asked, admitting: Admitting): Decision | null => {
  const { round, now } = admitting;
  const joined = findJoinable(tool, round, now);
  if (joined === undefined) return null;
  // What came back, or was never held, is held anew, and must be there. Where nothing stands the round goes on free.
  const holds = isOpen(joined) || joined.applied === 'failed';
  if (!holds && tool.failures === 0) joined.retry = false;
  if (joined.retry && !holds && !hasRetryLeft(tool, asked, admitting)) return null;
  joined.running += 1;
  joined.lease = Math.max(joined.lease, now + round.leaseMs);
  return { decision: joined.retry ? 'retry' : 'free', claimId: joined.id };
};

// Null where no failure stands, a retry is left, or what was exhausted has cooled down and is made fresh. While a
// retry runs nothing is exhausted yet: its end decides.
const refuse = (tool: ToolState, asked: Asked, admitting: Admitting): Decision | null => {
  const { round, now } = admitting;
  if (tool.failures === 0 || hasRetryLeft(tool, asked, admitting)) return null;
  const denial = toDenial(tool, asked);
  if (denial === 'running' || !hasCooled(tool, admitting)) return { decision: 'denied', denial, claimId: null };
  const former = findJoinable(tool, round, now);
  refresh(tool, '');
  tool.claims = tool.claims.filter((claim) => claim !== former);
  return null;
};

const begin = (tool: ToolState, { round, now }: Admitting): Decision => {
  const retry = tool.failures > 0;
  if (!retry && round.roundId === null) return { decision: 'free', claimId: null };
  tool.claims.push(createClaim(round, { retry, epoch: tool.epoch, running: 1 }, now));
  return { decision: retry ? 'retry' : 'free', claimId: round.batchId };
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
    charged: 0,
    wipedFailures: 0,
    wipedUsed: 0,
  };
};

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

// Not a tool: under this name stand, as claims that hold nothing, the named rounds that named an unknown tool.
const UNKNOWN_ROUNDS = '';

// A round that names only known tools clears the bucket of unknown names. A named round is known to do so only when
// the next one begins.
const forgiveUnknownNames = (session: SessionState, round: Round, now: number): void => {
  if (round.tools.length === 0) return;
  const knows = !round.tools.some((tool) => tool.name === UNKNOWN_TOOL);
  const name = round.roundId ?? '';
  const hasNamed = hasNamedUnknown(session, round, knows ? 'known' : 'unknown', now);
  const { knownRound } = session;
  session.knownRound = '';
  const unknown = session.tools.get(UNKNOWN_TOOL);
  if (unknown === undefined || unknown.failures === 0) return;
  if ((knownRound !== '' && knownRound !== name) || (knows && name === '')) refresh(unknown, '');
  if (!hasNamed) session.knownRound = name;
};

const hasNamedUnknown = (session: SessionState, round: Round, names: 'known' | 'unknown', now: number): boolean => {
  if (round.roundId === null) return names === 'unknown';
  const rounds = toolState(session, UNKNOWN_ROUNDS);
  if (findJoinable(rounds, round, now) !== undefined) return true;
  if (names === 'known') return false;
  rounds.claims.push(createClaim(round, { retry: false, epoch: 0, running: 0 }, now));
  dropEndedClaims(rounds, now);
  return true;
};
