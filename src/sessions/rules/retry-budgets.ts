import {
  type Budget,
  type Denial,
  type Permit,
  type RequestedTool,
  type Round,
  type SessionSettings,
  type ToolOutcome,
  UNKNOWN_TOOL,
} from '../../executor/session-store.ts';
import {
  addReservation,
  dropEnded,
  expireReservations,
  findJoinable,
  heldRetries,
  isOpen,
  openRetries,
  refresh,
  spentRetries,
} from './reservations.ts';
import { findTool, type Reservation, type SessionState, type ToolState, toolState } from './session-state.ts';

// The retry budgets of a session: a round asks for its tools, then it settles. Names that no tool has share one bucket.

/** A permit and what settling will need of it: the reservation (if one was made) and the epoch at admission. */
export type AdmittedTool = {
  readonly permit: Permit;
  readonly reservationId: string | null;
  readonly epoch: number;
  /** Of a call that outlived its batch, which gave its retry back: it takes one again only where it fails. */
  readonly late?: true;
};

/** What a tool's budget says of a round. */
export type Assessment = {
  readonly requested: RequestedTool;
  readonly tool: ToolState;
  /** null: not denied. */
  readonly denial: Denial | null;
  /** Of its round, which this batch joins. */
  readonly joined: Reservation | undefined;
  /** How many retries the batch needs beside those that its round has: 0 or 1. */
  readonly needed: number;
};

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
 * before it and let in are known. Reserves nothing, but makes fresh what has cooled down.
 */
export const assessTools = (
  session: SessionState,
  round: Round,
  mayRun: (tool: string, letIn: ReadonlySet<string>) => boolean,
  { settings, now }: Pick<Admitting, 'settings' | 'now'>,
): readonly Assessment[] => {
  let spent = spentRetries(session);
  const letIn = new Set<string>();
  return round.tools.map((requested) => {
    const tool = findTool(session, requested.name);
    const before = heldRetries(tool);
    const assessment = assessTool(tool, requested, { settings, now, round, spent });
    spent += heldRetries(tool) - before + (mayRun(requested.name, letIn) ? assessment.needed : 0);
    if (assessment.denial === null) letIn.add(requested.name);
    return assessment;
  });
};

const assessTool = (tool: ToolState, requested: RequestedTool, admitting: Admitting): Assessment => {
  const joined = findJoinable(tool, admitting.round, admitting.now);
  const hasRetry = heldRetries(tool) < requested.retries && admitting.spent < admitting.settings.sessionRetries;
  // A batch of a round that is under way takes over its reservation. A retry that came back, or was never held, is reserved
  // anew, and must be there.
  const toJoin = joined?.retry === true && !holdsRetry(joined) && tool.failures > 0 ? 1 : 0;
  if (joined !== undefined && (hasRetry || toJoin === 0))
    return { requested, tool, denial: null, joined, needed: toJoin };
  const denial = tool.failures === 0 || hasRetry ? null : decideDenial(tool, requested, joined, admitting);
  return { requested, tool, denial, joined: undefined, needed: denial === null && tool.failures > 0 ? 1 : 0 };
};

const holdsRetry = (reservation: Reservation): boolean => isOpen(reservation) || reservation.verdict === 'failed';

/** Null where a tool that was exhausted has cooled down, and is fresh. While a retry runs nothing is exhausted: its end decides. */
const decideDenial = (
  tool: ToolState,
  { retries }: RequestedTool,
  former: Reservation | undefined,
  { settings: { cooldownMs }, now }: Admitting,
): Denial | null => {
  const denial = tool.used >= retries ? 'tool' : openRetries(tool) > 0 ? 'running' : 'session';
  if (denial === 'running' || cooldownMs === 0 || now - tool.failedAt < cooldownMs) return denial;
  refresh(tool);
  tool.reservations = tool.reservations.filter((one) => one !== former);
  return null;
};

/** Reserves what the assessment found free: joins the round's reservation or makes one; null: it needs none. Changes `session`. */
export const reserve = (
  session: SessionState,
  { requested, tool, joined, denial }: Assessment,
  round: Round,
  now: number,
): Reservation | null => {
  const isRetry = tool.failures > 0;
  if (denial !== null) return null;
  if (joined !== undefined) {
    // Where no failure stands the round goes on free.
    if (!holdsRetry(joined) && !isRetry) joined.retry = false;
    joined.running += 1;
    joined.lease = Math.max(joined.lease, now + round.leaseMs);
    return joined;
  }
  if (!isRetry && round.roundId === null) return null;
  session.tools.set(requested.name, tool);
  return addReservation(tool, round, isRetry, now);
};

/**
 * The tool as it was let in, in a session that has `sessionLeft` retries left. Without a reservation limits and loop guard left it
 * nothing to run, or it needs none.
 */
export const createAdmittedTool = (
  { requested, tool, denial }: Pick<Assessment, 'requested' | 'tool' | 'denial'>,
  reservation: Reservation | null,
  sessionLeft: number,
): AdmittedTool => {
  const budget = toBudget(tool, requested.retries, sessionLeft);
  const { epoch } = tool;
  if (denial !== null) return { permit: { decision: 'denied', denial, budget }, reservationId: null, epoch };
  if (reservation === null)
    return { permit: { decision: tool.failures > 0 ? 'idle' : 'free', budget }, reservationId: null, epoch };
  return { permit: { decision: reservation.retry ? 'retry' : 'free', budget }, reservationId: reservation.id, epoch };
};

/** Whether the round may use the tool: what is reported of one that it may not use settles nothing. */
export const isLetIn = (tool: AdmittedTool | undefined): boolean =>
  tool?.permit.decision === 'free' || tool?.permit.decision === 'retry';

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

/** What the tools of a round have left now. Drops reservations whose lease is over. */
export const readBudgets = (
  session: SessionState,
  tools: readonly RequestedTool[],
  { sessionRetries }: Pick<SessionSettings, 'sessionRetries'>,
  now: number,
): ReadonlyMap<string, Budget> => {
  expireReservations(session, now);
  const left = sessionRetries - spentRetries(session);
  return new Map(tools.map(({ name, retries }) => [name, toBudget(findTool(session, name), retries, left)]));
};

/**
 * Settles a round: failed → a retry is used; succeeded → it is returned and, where no other round failed since, the tool is
 * clean; neither → it is returned; interrupted → it is left to its lease. Changes `session`.
 */
export const settleBudgets = (
  session: SessionState,
  outcomes: readonly ToolOutcome[],
  admitted: ReadonlyMap<string, AdmittedTool>,
  now: number,
): void => {
  expireReservations(session, now);
  for (const outcome of outcomes) {
    const { failed, succeeded, interrupted, name } = outcome;
    const tool = admitted.get(name);
    if (tool === undefined || !isLetIn(tool)) continue;
    const isWorthSettling = tool.reservationId === null ? failed && !succeeded : failed || succeeded || !interrupted;
    if (isWorthSettling) settleTool(session, outcome, tool, now);
  }
};

const settleTool = (session: SessionState, outcome: ToolOutcome, admitted: AdmittedTool, now: number): void => {
  const tool = toolState(session, outcome.name);
  const reservation = tool.reservations.find(({ id }) => id === admitted.reservationId);
  if (outcome.refunds === true) {
    refund(tool, reservation, admitted);
    return;
  }
  if (reservation === undefined) {
    settleUnreserved(session, tool, outcome, admitted, now);
    return;
  }
  // The batch of a late call gave the retry back already.
  if (admitted.late !== true || admitted.permit.decision !== 'retry')
    reservation.running = Math.max(0, reservation.running - 1);
  settleReservation(tool, reservation, outcome, now);
  dropEnded(tool, now);
};

/** Gives back what a round was charged with, unless that was given back, or the tool has become clean, since. */
const refund = (tool: ToolState, reservation: Reservation | undefined, { permit }: AdmittedTool): void => {
  if (tool.failures === 0 || (reservation !== undefined && reservation.verdict !== 'failed')) return;
  if (reservation !== undefined) reservation.verdict = 'over';
  tool.failures -= 1;
  if (permit.decision === 'retry') tool.used = Math.max(0, tool.used - 1);
  if (tool.failures === 0) refresh(tool);
};

// No reservation: a first attempt without a name, or a batch that settles after its lease and is a round of its own now. A
// retry that the lease took for lost turns out to be used.
const settleUnreserved = (
  session: SessionState,
  tool: ToolState,
  { failed, succeeded, error }: ToolOutcome,
  { permit, epoch, late }: AdmittedTool,
  now: number,
): void => {
  const isRetry = permit.decision === 'retry';
  if (failed && !succeeded) {
    countFailure(tool, error, now);
    if (isRetry) tool.used += 1;
    if (isRetry && late !== true) session.lost = Math.max(0, session.lost - 1);
  }
  if (succeeded && !failed && isRetry && tool.epoch === epoch) refresh(tool);
};

// One more batch of the round has settled: the table of Reservation.
const decideVerdict = (before: Reservation['verdict'], { failed, succeeded }: ToolOutcome): Reservation['verdict'] => {
  if (!failed && !succeeded) return before;
  const verdict = failed === succeeded ? 'over' : failed ? 'failed' : 'succeeded';
  return before === 'none' || before === verdict ? verdict : 'over';
};

const settleReservation = (tool: ToolState, reservation: Reservation, outcome: ToolOutcome, now: number): void => {
  const before = reservation.verdict;
  const verdict = decideVerdict(before, outcome);
  if (verdict === before) return;
  reservation.verdict = verdict;
  const charge = reservation.retry ? 1 : 0;
  if (verdict === 'failed') {
    countFailure(tool, outcome.error, now);
    tool.used += charge;
  } else if (before === 'failed') {
    tool.failures = Math.max(0, tool.failures - 1);
    tool.used = Math.max(0, tool.used - charge);
  }
  // A success that began before another round's failure must not wipe it.
  if (verdict === 'succeeded' && reservation.retry && reservation.epoch === tool.epoch) refresh(tool);
};

const MAX_ERROR_LENGTH = 200;

/** What is stored of a failure's text: at most 200 characters, none of them half of one. */
export const cutError = (error: string): string => error.slice(0, MAX_ERROR_LENGTH).toWellFormed();

const countFailure = (tool: ToolState, error: string, now: number): void => {
  tool.failures += 1;
  tool.epoch += 1;
  tool.failedAt = now;
  tool.lastError = cutError(error);
};

/**
 * A round that names only known tools clears the bucket of unknown names; a named round is known to do so only when
 * the next one begins. Changes `session`.
 */
export const forgiveUnknownNames = (session: SessionState, { roundId, tools }: Round): void => {
  if (tools.length === 0) return;
  const namesUnknown = tools.some(({ name }) => name === UNKNOWN_TOOL);
  if (namesUnknown)
    session.namedRounds = session.namedRounds.map((one) => (one.id === roundId ? { ...one, namesUnknown } : one));
  const { knownRound } = session;
  session.knownRound = '';
  const unknown = session.tools.get(UNKNOWN_TOOL);
  if (unknown === undefined || unknown.failures === 0) return;
  if ((knownRound !== '' && knownRound !== roundId) || (!namesUnknown && roundId === null)) refresh(unknown);
  const isKnown = session.namedRounds.some((one) => one.id === roundId && one.namesUnknown !== true);
  if (isKnown) session.knownRound = roundId ?? '';
};

/**
 * Adds what came of a round that was counted while the store was away: a failure is one more failed round, a success cleans the
 * tool where no other round has failed since it began. Changes `session`.
 */
export const addLateOutcome = (
  session: SessionState,
  { name, failed, error, epoch }: Pick<ToolOutcome, 'name' | 'failed' | 'error'> & Pick<AdmittedTool, 'epoch'>,
  now: number,
): void => {
  const tool = findTool(session, name);
  if (!failed) {
    if (tool.epoch === epoch) refresh(tool);
    return;
  }
  if (tool.failures > 0) tool.used += 1;
  countFailure(tool, error, now);
  session.tools.set(name, tool);
};
