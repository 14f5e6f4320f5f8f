import {
  type AskedTool,
  type Budget,
  type Denial,
  type Permit,
  type Round,
  type SessionSettings,
  type ToolOutcome,
  UNKNOWN_TOOL,
} from '../../executor/session-store.ts';
import {
  addClaim,
  type Claim,
  dropEndedClaims,
  expireClaims,
  findJoinable,
  findTool,
  heldRetries,
  isOpen,
  openRetries,
  refresh,
  type SessionState,
  spentRetries,
  type ToolState,
  toolState,
  type Verdict,
} from './session-state.ts';

// The retry budgets of a session: 1 a round asks for its tools, 2 it settles, 4 unknown names share one bucket (3, the limits
// of calls, is in rounds.ts).

/** A permit and what settling will need of it: the claim (if one was made) and the epoch at admission. */
export type AdmittedTool = {
  readonly permit: Permit;
  readonly claimId: string | null;
  readonly epoch: number;
  /** Of a call that outlived its batch, which gave its retry back: it takes one again only where it fails. */
  readonly late?: true;
};

/** What a tool's budget says of a round: no, join the claim that the round has, or begin. */
export type Assessment = {
  readonly requested: AskedTool;
  readonly tool: ToolState;
  /** null: not denied. */
  readonly denial: Denial | null;
  /** Of its round, which this batch joins. */
  readonly claim: Claim | undefined;
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
    spent += heldRetries(tool) - before + (mayRun(requested.name, letIn) ? retriesNeeded(assessment) : 0);
    if (assessment.denial === null) letIn.add(requested.name);
    return assessment;
  });
};

const assessTool = (tool: ToolState, requested: AskedTool, admitting: Admitting): Assessment => {
  const claim = findJoinable(tool, admitting.round, admitting.now);
  // A batch of a round that is under way takes over its reservation. What came back, or was never held, is held anew, and
  // must be there.
  if (claim !== undefined && (retriesToJoin(tool, claim) === 0 || hasRetryLeft(tool, requested, admitting)))
    return { requested, tool, denial: null, claim };
  return { requested, tool, denial: refuse(tool, requested, claim, admitting), claim: undefined };
};

const holdsRetry = (claim: Claim): boolean => isOpen(claim) || claim.verdict === 'failed';

const retriesToJoin = (tool: ToolState, claim: Claim): number =>
  claim.retry && !holdsRetry(claim) && tool.failures > 0 ? 1 : 0;

const retriesNeeded = ({ tool, denial, claim }: Assessment): number => {
  if (denial !== null) return 0;
  if (claim !== undefined) return retriesToJoin(tool, claim);
  return tool.failures > 0 ? 1 : 0;
};

// Null where no failure stands, a retry is left, or what was exhausted has cooled down and is made fresh. While a
// retry runs nothing is exhausted yet: its end decides.
const refuse = (
  tool: ToolState,
  requested: AskedTool,
  former: Claim | undefined,
  admitting: Admitting,
): Denial | null => {
  const { settings, now } = admitting;
  if (tool.failures === 0 || hasRetryLeft(tool, requested, admitting)) return null;
  const denial = toDenial(tool, requested);
  const hasCooled = settings.cooldownMs > 0 && now - tool.failedAt >= settings.cooldownMs;
  if (denial === 'running' || !hasCooled) return denial;
  refresh(tool);
  tool.claims = tool.claims.filter((claim) => claim !== former);
  return null;
};

const hasRetryLeft = (tool: ToolState, requested: AskedTool, { settings, spent }: Admitting): boolean =>
  heldRetries(tool) < requested.retries && spent < settings.sessionRetries;

const toDenial = (tool: ToolState, requested: AskedTool): Denial => {
  if (tool.used >= requested.retries) return 'tool';
  return openRetries(tool) > 0 ? 'running' : 'session';
};

type Decision = { readonly decision: 'free' | 'retry' | 'idle'; readonly claimId: string | null };

/** Takes what the assessment found free: joins the round's claim or makes one. Changes `session`. */
export const takeRetry = (session: SessionState, assessment: Assessment, round: Round, now: number): Decision => {
  const { requested, tool, claim, denial } = assessment;
  if (denial !== null) return takeNothing(assessment);
  if (claim !== undefined) {
    // Where no failure stands the round goes on free.
    if (!holdsRetry(claim) && tool.failures === 0) claim.retry = false;
    claim.running += 1;
    claim.lease = Math.max(claim.lease, now + round.leaseMs);
    return { decision: claim.retry ? 'retry' : 'free', claimId: claim.id };
  }
  const retry = tool.failures > 0;
  if (!retry && round.roundId === null) return { decision: 'free', claimId: null };
  addClaim(tool, round, { retry, running: 1 }, now);
  session.tools.set(requested.name, tool);
  return { decision: retry ? 'retry' : 'free', claimId: round.batchId };
};

/** What a tool gets of which limits and loop guard left nothing to run. Reserves nothing. */
export const takeNothing = ({ tool }: Pick<Assessment, 'tool'>): Decision => ({
  decision: tool.failures > 0 ? 'idle' : 'free',
  claimId: null,
});

/** The tool as it was decided, in a session that has `sessionLeft` retries left. */
export const toAdmittedTool = (
  { requested, tool, denial }: Assessment,
  { decision, claimId }: Decision,
  sessionLeft: number,
): AdmittedTool => {
  const budget = toBudget(tool, requested.retries, sessionLeft);
  const permit: Permit = denial === null ? { decision, budget } : { decision: 'denied', denial, budget };
  return { permit, claimId: denial === null ? claimId : null, epoch: tool.epoch };
};

/** Whether the round may use the tool: what is said of one that it may not use settles nothing. */
export const isLetIn = (tool: AdmittedTool | undefined): boolean =>
  tool?.permit.decision === 'free' || tool?.permit.decision === 'retry';

/** The permits as the round reads them. */
export const toPermits = (tools: ReadonlyMap<string, AdmittedTool>): ReadonlyMap<string, Permit> =>
  new Map(Array.from(tools, ([name, { permit }]) => [name, permit]));

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

const MAX_ERROR_LENGTH = 200;

/** What is kept of a failure's text: at most 200 characters, none of them half of one. */
export const toErrorLine = (error: string): string => error.slice(0, MAX_ERROR_LENGTH).toWellFormed();

/** Whether settling this outcome can change a budget: not where nothing was held and nothing failed. */
export const isWorthSettling = (
  { failed, succeeded, interrupted }: ToolOutcome,
  admitted: AdmittedTool | undefined,
): boolean => (admitted?.claimId === null ? failed && !succeeded : failed || succeeded || !interrupted);

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
  expireClaims(session, now);
  for (const outcome of outcomes) {
    const tool = admitted.get(outcome.name);
    if (tool !== undefined && isLetIn(tool) && isWorthSettling(outcome, tool)) settleTool(session, outcome, tool, now);
  }
};

const settleTool = (session: SessionState, outcome: ToolOutcome, admitted: AdmittedTool, now: number): void => {
  const tool = toolState(session, outcome.name);
  const claim = tool.claims.find(({ id }) => id === admitted.claimId);
  if (claim === undefined) {
    settleUnclaimed(session, outcome, admitted, now);
    return;
  }
  // Of a call that outlives its batch, that one gives back the hold on a retry.
  if (admitted.late !== true || admitted.permit.decision !== 'retry') claim.running = Math.max(0, claim.running - 1);
  judge(tool, claim, outcome, now);
  dropEndedClaims(tool, now);
};

// No claim: a first attempt without a name, or a batch that settles after its lease and is a round of its own now. A
// retry that the lease took for lost is known here to be used.
const settleUnclaimed = (
  session: SessionState,
  { name, failed, succeeded, error }: ToolOutcome,
  { permit, epoch, late }: AdmittedTool,
  now: number,
): void => {
  const tool = toolState(session, name);
  const isRetry = permit.decision === 'retry';
  if (failed && !succeeded) {
    countFailure(tool, error, now);
    if (!isRetry) return;
    tool.used += 1;
    if (late !== true) session.lost = Math.max(0, session.lost - 1);
  }
  if (succeeded && !failed && isRetry && tool.epoch === epoch) refresh(tool);
};

// One more batch of the round has settled. Once charged it is not charged again, and a success makes it mixed.
const toVerdict = (before: Verdict, { failed, succeeded }: ToolOutcome): Verdict => {
  if (!failed && !succeeded) return before;
  const now = failed === succeeded ? 'over' : failed ? 'failed' : 'succeeded';
  if (before === 'none' || before === now) return now;
  return 'over';
};

const countFailure = (tool: ToolState, error: string, now: number): void => {
  tool.failures += 1;
  tool.epoch += 1;
  tool.failedAt = now;
  tool.lastError = toErrorLine(error);
};

const judge = (tool: ToolState, claim: Claim, outcome: ToolOutcome, now: number): void => {
  const before = claim.verdict;
  const verdict = toVerdict(before, outcome);
  if (verdict === before) return;
  claim.verdict = verdict;
  const charge = claim.retry ? 1 : 0;
  if (verdict === 'failed') {
    countFailure(tool, outcome.error, now);
    tool.used += charge;
  } else if (before === 'failed') {
    tool.failures = Math.max(0, tool.failures - 1);
    tool.used = Math.max(0, tool.used - charge);
  }
  // A success that began before another round's failure must not wipe it.
  if (verdict === 'succeeded' && claim.retry && claim.epoch === tool.epoch) refresh(tool);
};

// Not a tool: under this name stand, as claims that hold nothing, the named rounds that named an unknown tool.
const UNKNOWN_ROUNDS = '';

/**
 * A round that names only known tools clears the bucket of unknown names; a named round is known to do so only when
 * the next one begins. Changes `session`.
 */
export const forgiveUnknownNames = (session: SessionState, round: Round, now: number): void => {
  if (round.tools.length === 0) return;
  const hasNamed = hasNamedUnknown(session, round, now);
  const name = round.roundId ?? '';
  const { knownRound } = session;
  session.knownRound = '';
  const unknown = session.tools.get(UNKNOWN_TOOL);
  if (unknown === undefined || unknown.failures === 0) return;
  if ((knownRound !== '' && knownRound !== name) || (!namesUnknown(round) && name === '')) refresh(unknown);
  if (!hasNamed) session.knownRound = name;
};

const namesUnknown = ({ tools }: Round): boolean => tools.some(({ name }) => name === UNKNOWN_TOOL);

/** Whether this batch or an earlier one of its round has named an unknown tool. */
const hasNamedUnknown = (session: SessionState, round: Round, now: number): boolean => {
  if (round.roundId === null) return namesUnknown(round);
  const rounds = toolState(session, UNKNOWN_ROUNDS);
  if (findJoinable(rounds, round, now) !== undefined) return true;
  if (!namesUnknown(round)) return false;
  addClaim(rounds, round, { retry: false, running: 0 }, now);
  dropEndedClaims(rounds, now);
  return true;
};

/**
 * Adds what came of a round that was counted while the store was away: a failure is one more failed round, a success cleans the
 * tool where no other round has failed since it began. Changes `session`.
 */
export const addLateOutcome = (
  session: SessionState,
  { name, failed, error, epoch }: Pick<ToolOutcome, 'name' | 'failed' | 'error'> & { readonly epoch: number },
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

/** Names of tools, and what each has left after a round, in turn. */
export type RetriesLeft = readonly (string | number | null)[];

export const toRetriesLeft = (tools: readonly AskedTool[], budgets: ReadonlyMap<string, Budget>): RetriesLeft =>
  tools.flatMap(({ name }) => [name, budgets.get(name)?.remaining ?? null]);

/** What a tool has left; null where the round did not ask for it. The names come from a text that may be damaged. */
export const retriesLeftOf = (left: readonly unknown[], tool: string): number | null => {
  const count = left[left.indexOf(tool) + 1];
  return left.includes(tool) && typeof count === 'number' ? count : null;
};
