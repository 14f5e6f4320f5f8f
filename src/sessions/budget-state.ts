/** What a session remembers of one tool. */
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
};

/**
 * A round's hold on one tool: its reservation, and for a named round what is known of it so far, so that its
 * batches count as one. Rounds without a name that are no retry need none.
 */
export type Claim = {
  /** The batch that made it. */
  readonly id: string;
  readonly tool: string;
  /** "" for a round without a name. */
  readonly round: string;
  readonly retry: boolean;
  /** The tool's epoch when the round began. */
  readonly epoch: number;
  /** Until when further batches of the round may join: one lease from its start, so no name is a free pass for ever. */
  readonly joinUntil: number;
  lease: number;
  /** Batches of the round that have not settled. */
  running: number;
  failed: boolean;
  succeeded: boolean;
  /** Which verdict is in the tool's numbers now; `void` = it was, and a reset has wiped it. */
  applied: 'none' | 'failed' | 'succeeded' | 'void';
  /** What a success of this round wiped, should the round turn out mixed. */
  wipedFailures: number;
  wipedUsed: number;
};

/** A session's budgets. `born` names this life of the session. */
export type SessionState = {
  readonly born: string;
  readonly tools: Map<string, ToolState>;
  claims: Claim[];
  /** Retries whose outcome was never heard of: lost for the session, not for the tool. */
  lost: number;
  /** The last named round that so far named known tools only, and the last that named an unknown one; "" for none. */
  knownRound: string;
  unknownRound: string;
};

export const createSessionState = (born: string): SessionState => ({
  born,
  tools: new Map(),
  claims: [],
  lost: 0,
  knownRound: '',
  unknownRound: '',
});

/** Whether the claim holds a retry that has neither failed nor come back. */
export const isOpen = (claim: Claim): boolean => claim.retry && claim.running > 0 && claim.applied !== 'failed';

export const toolState = (session: SessionState, name: string): ToolState => {
  const known = session.tools.get(name);
  if (known !== undefined) return known;
  const fresh = { failures: 0, used: 0, epoch: 0, failedAt: 0, lastError: '' };
  session.tools.set(name, fresh);
  return fresh;
};

/** Retries of one tool that are running now. */
export const openRetries = (session: SessionState, name: string): number =>
  session.claims.filter((claim) => claim.tool === name && isOpen(claim)).length;

/** Retries of the session that failed, run, or were lost. */
export const spentRetries = (session: SessionState): number => {
  let spent = session.lost + session.claims.filter(isOpen).length;
  for (const tool of session.tools.values()) spent += tool.used;
  return spent;
};

/** Drops claims whose lease is over. The tool has an unsettled retry back; the session does not. */
export const expireClaims = (session: SessionState, now: number): void => {
  if (session.claims.length === 0) return;
  for (const claim of session.claims) if (claim.lease <= now && isOpen(claim)) session.lost += 1;
  session.claims = session.claims.filter((claim) => claim.lease > now);
};

/** Makes the tool clean: its tokens go back to the session, and verdicts that were counted are gone. */
export const refresh = (session: SessionState, name: string): void => {
  const state = toolState(session, name);
  state.failures = 0;
  state.used = 0;
  for (const claim of session.claims.filter(({ tool }) => tool === name)) {
    if (claim.applied === 'failed') claim.applied = 'void';
    claim.wipedFailures = 0;
    claim.wipedUsed = 0;
  }
};
