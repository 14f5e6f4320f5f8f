import type { Round } from '../../executor/session-store.ts';

/** What a session remembers of one tool's failures. */
export type ToolState = {
  /** Failed rounds in a row. */
  failures: number;
  /** Retries that failed. */
  used: number;
  /** +1 with every failed round, never set back. */
  epoch: number;
  /** Time of the last failed round, Unix milliseconds. */
  failedAt: number;
  lastError: string;
  /** The holds that rounds under way have on it. */
  claims: Claim[];
};

/**
 * A round's hold on one tool: its reservation, and for a named round what is known of it so far, so that its
 * batches count as one. Rounds without a name that are no retry need none.
 */
export type Claim = {
  /** The batch that made it. */
  readonly id: string;
  /** "" for a round without a name. */
  readonly round: string;
  retry: boolean;
  /** The tool's epoch when the round began. */
  readonly epoch: number;
  /** Until when further batches of the round may join: one lease from its start, so no name is a free pass for ever. */
  readonly joinUntil: number;
  lease: number;
  /** Batches of the round that have not settled. */
  running: number;
  failed: boolean;
  succeeded: boolean;
  /** Which verdict is in the tool's numbers now; `void` = it was `failed`, and the tool has been made clean since. */
  applied: 'none' | 'failed' | 'succeeded' | 'void';
  /** While `void`: the claim whose success did that, for it may turn out mixed; "" where it stays so. */
  wipedBy: string;
  /** Retries that its failure used: 1 or 0. */
  charged: number;
  /** What a success of this round wiped, should the round turn out mixed. */
  wipedFailures: number;
  wipedUsed: number;
};

/** The budgets of a session. */
export type BudgetState = {
  readonly tools: Map<string, ToolState>;
  /** Retries whose outcome was never heard of: lost for the session, not for the tool. */
  lost: number;
  /** The last named round, if it has named known tools only so far and unknown names have failed; else "". */
  knownRound: string;
};

/** Whether the claim holds a retry that has neither failed nor come back. */
export const isOpen = (claim: Claim): boolean => claim.retry && claim.running > 0 && claim.applied !== 'failed';

/** The tool's state, kept from now on. */
export const toolState = (session: BudgetState, name: string): ToolState => {
  const tool = findTool(session, name);
  session.tools.set(name, tool);
  return tool;
};

/** The tool's state to look at: that of a tool that never failed is nobody's. */
export const findTool = (session: BudgetState, name: string): ToolState =>
  session.tools.get(name) ?? { failures: 0, used: 0, epoch: 0, failedAt: 0, lastError: '', claims: [] };

/** Retries of one tool that are running now. */
export const openRetries = ({ claims }: ToolState): number =>
  claims.reduce((open, claim) => open + (isOpen(claim) ? 1 : 0), 0);

/** Retries that one tool holds of its session's: failed or running. */
export const heldRetries = (tool: ToolState): number => tool.used + openRetries(tool);

/** Retries of the session that failed, run, or were lost. Looks at every tool: once a step, not once a tool. */
export const spentRetries = (session: BudgetState): number => {
  let spent = session.lost;
  for (const tool of session.tools.values()) spent += heldRetries(tool);
  return spent;
};

/** The claim that a batch of this round takes over. */
export const findJoinable = (tool: ToolState, { roundId }: Round, now: number): Claim | undefined =>
  roundId === null ? undefined : tool.claims.find(({ round, joinUntil }) => round === roundId && joinUntil > now);

/** A hold on a tool that this batch makes for its round. */
export const createClaim = (round: Round, terms: Pick<Claim, 'retry' | 'epoch' | 'running'>, now: number): Claim => {
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

/** Drops claims whose lease is over. The tool has an unsettled retry back; the session does not. */
export const expireClaims = (session: BudgetState, now: number): void => {
  for (const tool of session.tools.values()) {
    if (tool.claims.length === 0) continue;
    for (const claim of tool.claims) if (claim.lease <= now && isOpen(claim)) session.lost += 1;
    tool.claims = tool.claims.filter((claim) => claim.lease > now);
  }
};

// A claim costs every later step of its session: 600 of them took Redis 50 ms. More rounds than this are not under way
// at once in one session, and of those that are, each with a batch still running is kept.
const MAX_ENDED_CLAIMS = 16;

/** Drops the claims that nobody can join any more, and of those without a running batch all but the latest. */
export const dropEndedClaims = (tool: ToolState, now: number): void => {
  const kept = tool.claims.filter(({ running, joinUntil }) => running > 0 || joinUntil > now);
  let surplus = kept.filter(({ running }) => running === 0).length - MAX_ENDED_CLAIMS;
  tool.claims = kept.filter(({ running }) => {
    if (running > 0 || surplus <= 0) return true;
    surplus -= 1;
    return false;
  });
};

/**
 * Makes the tool clean: its tokens go back to the session, and verdicts that were counted are gone. `by` is the claim
 * whose success does it and which may take it back; "" where nothing can.
 */
export const refresh = (tool: ToolState, by: string): void => {
  tool.failures = 0;
  tool.used = 0;
  for (const claim of tool.claims) {
    claim.wipedBy = claim.applied === 'failed' ? by : '';
    if (claim.applied === 'failed') claim.applied = 'void';
    claim.wipedFailures = 0;
    claim.wipedUsed = 0;
  }
};
