import type { Round, SessionRecord, SessionSettings, ToolRecord } from '../../executor/session-store.ts';
import { textBytes } from '../../memory/bounded-store.ts';
import { keepStreaks, streaksAfter, type ToolStreaks, withoutFailures } from './loop-guard.ts';

/** All that counts in a session; its journal is kept apart. */
export type SessionState = {
  /** Names this life of the session. */
  readonly born: string;
  readonly tools: Map<string, ToolState>;
  /** Retries whose outcome was never reported: lost for the session, not for the tool. */
  lost: number;
  /** The last named round, if it has named known tools only so far and unknown names have failed; else "". */
  knownRound: string;
  rounds: number;
  /** Calls that run, ran, or may have run. */
  calls: number;
  /** The same of each tool that limits its calls. */
  readonly callsOf: Map<string, number>;
  /** Named rounds that further batches may join. Oldest first. */
  namedRounds: readonly { readonly id: string; readonly step: number; readonly joinUntil: number }[];
  readonly streaks: Map<string, ToolStreaks>;
};

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
  verdict: Verdict;
};

/**
 * What a round has come to so far. `failed`: charged, and in the tool's numbers. `over`: it counts neither way any more, for it has
 * turned out mixed, or the tool has been made clean since it was charged.
 */
export const VERDICTS = ['none', 'failed', 'succeeded', 'over'] as const;
export type Verdict = (typeof VERDICTS)[number];

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

/** Whether the claim holds a retry that has neither failed nor come back. */
export const isOpen = (claim: Claim): boolean => claim.retry && claim.running > 0 && claim.verdict !== 'failed';

/** The tool's state, kept from now on. */
export const toolState = (session: SessionState, name: string): ToolState => {
  const tool = findTool(session, name);
  session.tools.set(name, tool);
  return tool;
};

/** The tool's state to look at: that of a tool that never failed is not kept. */
export const findTool = (session: SessionState, name: string): ToolState =>
  session.tools.get(name) ?? { failures: 0, used: 0, epoch: 0, failedAt: 0, lastError: '', claims: [] };

/** Retries of one tool that are running now. */
export const openRetries = ({ claims }: ToolState): number =>
  claims.reduce((open, claim) => open + (isOpen(claim) ? 1 : 0), 0);

/** Retries that one tool holds of its session's: failed or running. */
export const heldRetries = (tool: ToolState): number => tool.used + openRetries(tool);

/** Retries of the session that failed, run, or were lost. Looks at every tool: once a step, not once a tool. */
export const spentRetries = (session: SessionState): number => {
  let spent = session.lost;
  for (const tool of session.tools.values()) spent += heldRetries(tool);
  return spent;
};

/** The claim that a batch of this round takes over. */
export const findJoinable = (tool: ToolState, { roundId }: Round, now: number): Claim | undefined =>
  roundId === null ? undefined : tool.claims.find(({ round, joinUntil }) => round === roundId && joinUntil > now);

/** Makes a hold on a tool that this batch has for its round. */
export const addClaim = (tool: ToolState, round: Round, hold: Pick<Claim, 'retry' | 'running'>, now: number): void => {
  const lease = now + round.leaseMs;
  tool.claims.push({
    ...hold,
    id: round.batchId,
    epoch: tool.epoch,
    round: round.roundId ?? '',
    joinUntil: round.roundId === null ? 0 : lease,
    lease,
    verdict: 'none',
  });
};

/** Drops the claims of a batch. Changes `session`. */
export const withdraw = (session: SessionState | null, batchId: string): void => {
  for (const tool of session?.tools.values() ?? []) tool.claims = tool.claims.filter(({ id }) => id !== batchId);
};

/** Drops claims whose lease is over. The tool has an unsettled retry back; the session does not. */
export const expireClaims = (session: SessionState, now: number): void => {
  for (const tool of session.tools.values()) {
    if (tool.claims.length === 0) continue;
    for (const claim of tool.claims) if (claim.lease <= now && isOpen(claim)) session.lost += 1;
    tool.claims = tool.claims.filter((claim) => claim.lease > now);
  }
};

// A claim costs every later step of its session: 600 of them took Redis 50 ms. More rounds than this are not under way
// at once in one session, and of those that are, each with a batch still running is kept.
const MAX_ENDED_CLAIMS = 16;

/** Drops the claims that no batch can join any more, and of those without a running batch all but the latest. */
export const dropEndedClaims = (tool: ToolState, now: number): void => {
  const usable = tool.claims.filter(({ running, joinUntil }) => running > 0 || joinUntil > now);
  let surplus = usable.filter(({ running }) => running === 0).length - MAX_ENDED_CLAIMS;
  tool.claims = usable.filter(({ running }) => {
    if (running > 0 || surplus <= 0) return true;
    surplus -= 1;
    return false;
  });
};

/** Makes the tool clean: its tokens go back to the session, and failures that were counted are gone. */
export const refresh = (tool: ToolState): void => {
  tool.failures = 0;
  tool.used = 0;
  for (const claim of tool.claims) if (claim.verdict === 'failed') claim.verdict = 'over';
};

// A session has not more named rounds under way at once.
const MAX_NAMED_ROUNDS = 16;

/**
 * Counts a round, a named one once: its name is good for one lease from its first batch. `refused`: one round too many,
 * which is not counted. Changes `session`.
 */
export const countRound = (
  session: SessionState,
  { roundId, leaseMs }: Round,
  { maxRounds }: SessionSettings,
  now: number,
): { readonly kind: 'begun' | 'joined' | 'refused'; readonly step: number } => {
  session.namedRounds = session.namedRounds.filter(({ joinUntil }) => joinUntil > now);
  const joined = session.namedRounds.find(({ id }) => id === roundId);
  if (joined !== undefined) return { kind: 'joined', step: joined.step };
  const step = session.rounds + 1;
  if (maxRounds > 0 && step > maxRounds) return { kind: 'refused', step };
  session.rounds = step;
  if (roundId !== null) {
    const named = { id: roundId, step, joinUntil: now + leaseMs };
    session.namedRounds = [...session.namedRounds, named].slice(-MAX_NAMED_ROUNDS);
  }
  return { kind: 'begun', step };
};

/**
 * Makes one tool fresh, or all of them and the session's lost retries with them (null). What runs goes on, and counts
 * when it ends. Changes `session`.
 */
export const resetSession = (session: SessionState, tool: string | null, now: number): void => {
  const isMeant = (name: string): boolean => tool === null || tool === name;
  expireClaims(session, now);
  for (const [name, state] of session.tools) if (isMeant(name)) refresh(state);
  for (const [name, streaks] of session.streaks)
    if (isMeant(name)) keepStreaks(session.streaks, name, withoutFailures(streaks, 0));
  if (tool === null) session.lost = 0;
};

/** The record of a session that was never seen. */
export const toEmptyRecord = (mode: SessionRecord['mode']): SessionRecord => ({
  mode,
  rounds: 0,
  calls: 0,
  spent: 0,
  tools: [],
  journal: [],
});

/** What a session remembers, without its journal. */
export const toSessionRecord = (session: SessionState, now: number): Omit<SessionRecord, 'mode' | 'journal'> => {
  expireClaims(session, now);
  const names = new Set([...session.tools.keys(), ...session.callsOf.keys(), ...session.streaks.keys()]);
  return {
    rounds: session.rounds,
    calls: session.calls,
    spent: spentRetries(session),
    tools: toSortedRecords(Array.from(names, (name) => toToolRecord(session, name, now))),
  };
};

/** Those of which something is remembered, by name. */
export const toSortedRecords = (tools: readonly ToolRecord[]): readonly ToolRecord[] =>
  tools
    .filter(({ failures, used, open, calls, streak }) =>
      [failures, used, open, calls, streak.failed, streak.same].some((count) => count > 0),
    )
    .sort((one, other) => (one.name < other.name ? -1 : 1));

const toToolRecord = (session: SessionState, name: string, now: number): ToolRecord => {
  const tool = findTool(session, name);
  const hasFailed = tool.failures > 0;
  const ofTool = session.streaks.get(name);
  const streaks = ofTool === undefined ? [] : [...streaksAfter(ofTool).values()];
  return {
    name,
    failures: tool.failures,
    used: tool.used,
    open: openRetries(tool),
    failedAgoMs: hasFailed ? Math.max(0, now - tool.failedAt) : null,
    lastError: hasFailed ? tool.lastError : '',
    calls: session.callsOf.get(name) ?? 0,
    streak: {
      failed: Math.max(0, ...streaks.map(({ failed }) => failed)),
      same: Math.max(0, ...streaks.map(({ same }) => same)),
    },
  };
};

// Measured with --expose-gc on stores filled to their limit (store-weights.test.ts): with the maps around them, which are
// up to twice as large as what is in them.
const BYTES = {
  session: 700,
  tool: 330,
  claim: 150,
  calls: 130,
  tools: 400,
  streak: 140,
  ending: 125,
  namedRound: 130,
  // A print of 53 bits is a number on the heap. A call that failed has no answer: the empty text is one for all.
  print: 16,
} as const;

/** What a session takes of the heap, in bytes, without its journal. */
export const toSessionBytes = ({ tools, streaks, callsOf, namedRounds, knownRound }: SessionState): number => {
  let bytes = BYTES.session + callsOf.size * BYTES.calls + textBytes(knownRound);
  for (const { id } of namedRounds) bytes += BYTES.namedRound + textBytes(id);
  for (const tool of tools.values()) bytes += toToolBytes(tool);
  for (const ofTool of streaks.values()) bytes += toStreakBytes(ofTool);
  return bytes;
};

const toToolBytes = ({ lastError, claims }: ToolState): number => {
  let bytes = BYTES.tool + textBytes(lastError);
  for (const { id, round } of claims) bytes += BYTES.claim + textBytes(id) + textBytes(round);
  return bytes;
};

const toStreakBytes = (tool: ToolStreaks): number => {
  if (tool.packed !== undefined) return BYTES.tools + tool.packed * (BYTES.streak + BYTES.print);
  const { before, endings } = tool;
  let bytes = BYTES.tools;
  for (const { answer } of before.values()) bytes += BYTES.streak + (answer === '' ? 0 : BYTES.print);
  for (const { answer } of endings.values()) bytes += BYTES.ending + (answer === '' ? 0 : BYTES.print);
  return bytes;
};
