import type {
  Budget,
  CallVerdict,
  Permit,
  RequestedCall,
  RequestedTool,
  Round,
  RoundReport,
  SessionSettings,
} from '../../executor/session-store.ts';
import { decideLoop, repeatsBefore, settleRepeats } from './loop-guard.ts';
import { expireReservations, spentRetries } from './reservations.ts';
import {
  type AdmittedTool,
  assessTools,
  createAdmittedTool,
  forgiveUnknownNames,
  isLetIn,
  reserve,
  settleBudgets,
  toBudget,
} from './retry-budgets.ts';
import { createSessionState, findTool, type SessionState } from './session-state.ts';

/** A round that was let in, wholly or in part. */
export type AdmittedRound = {
  readonly step: number;
  /** Empty where each call may run and none has repeats. */
  readonly verdicts: readonly CallVerdict[];
  /** null: the round is clean, and each of its tools is free. */
  readonly tools: ReadonlyMap<string, AdmittedTool> | null;
};

const RUN: CallVerdict = { kind: 'run', repeats: null };
const NO_VERDICTS: readonly CallVerdict[] = [];

/**
 * Lets a round in: 1 counts it  2 loop guard and the tools' limits  3 asks the budgets  4 the session's limit
 * 5 reserves for those that have a call to run. Changes `session`. Nearly all rounds are clean: for them the same comes to
 * counting, without an allocation.
 */
export const admitRound = (
  session: SessionState,
  round: Round,
  settings: SessionSettings,
  now: number,
): AdmittedRound => {
  const clean = admitClean(session, round, settings);
  if (clean !== null) return clean;
  expireReservations(session, now);
  const { isRefused, step } = countRound(session, round, settings, now);
  if (isRefused) return refuseRound(session, round, settings, step);
  forgiveUnknownNames(session, round);
  const judged = judgeCalls(session, round, guardStepOf(round, step));
  const assessed = assessTools(session, round, createMayRun(session, round, judged, settings), { settings, now });
  const letIn = new Set(assessed.filter(({ denial }) => denial === null).map(({ requested }) => requested.name));
  const verdicts = limitCalls(session, round, { judged, letIn }, settings);
  for (const [at, call] of round.calls.entries())
    if (verdicts[at]?.kind === 'run' && letIn.has(call.tool)) countCall(session, round, call, 1);
  const reserved = assessed.map((assessment) =>
    hasCall(round, verdicts, assessment.requested.name) ? reserve(session, assessment, round, now) : null,
  );
  const left = settings.sessionRetries - spentRetries(session);
  const tools = new Map<string, AdmittedTool>();
  for (const [at, assessment] of assessed.entries())
    tools.set(assessment.requested.name, createAdmittedTool(assessment, reserved[at] ?? null, left));
  const isPlain = verdicts.every((verdict) => verdict.kind === 'run' && verdict.repeats === null);
  return { step, tools, verdicts: isPlain ? NO_VERDICTS : verdicts };
};

/** Admits a round without a name where nothing has failed, nothing is limited and the loop guard refuses no call; else null. */
const admitClean = (session: SessionState, round: Round, settings: SessionSettings): AdmittedRound | null => {
  if (!isUntroubled(session) || round.roundId !== null || settings.maxCalls !== 0 || settings.maxRounds !== 0)
    return null;
  for (const tool of round.tools) if (tool.maxCalls !== null) return null;
  const verdicts = session.repeats.size === 0 ? NO_VERDICTS : guardCalls(session, round);
  if (verdicts === null) return null;
  session.rounds += 1;
  for (const { counts } of round.calls) if (counts) session.calls += 1;
  return { step: session.rounds, verdicts, tools: null };
};

const isUntroubled = ({ tools, lost, namedRounds, knownRound }: SessionState): boolean =>
  tools.size === 0 && lost === 0 && namedRounds.length === 0 && knownRound === '';

const guardCalls = (session: SessionState, { tools, calls }: Round): readonly CallVerdict[] | null => {
  let verdicts: CallVerdict[] | null = null;
  for (const [at, call] of calls.entries()) {
    const verdict = guardCall(session, call, tools, 0);
    if (verdict === RUN) continue;
    if (verdict.kind !== 'run') return null;
    verdicts ??= calls.map(() => RUN);
    verdicts[at] = verdict;
  }
  return verdicts ?? NO_VERDICTS;
};

const guardCall = (
  session: SessionState,
  call: RequestedCall,
  tools: readonly RequestedTool[],
  step: number,
): CallVerdict => {
  const ofTool = session.repeats.get(call.tool);
  // The hash is computed when it is read: not for a tool that has no repeats.
  if (ofTool === undefined || call.callHash === null) return RUN;
  const repeats = repeatsBefore(ofTool, call.callHash, step);
  if (repeats.failed === 0 && repeats.same === 0) return RUN;
  const tool = tools.find(({ name }) => name === call.tool);
  const loop = tool === undefined ? null : decideLoop(repeats, tool);
  return loop ?? { kind: 'run', repeats };
};

// A session has no more named rounds under way at once.
const MAX_NAMED_ROUNDS = 16;

/** Counts a round, a named one once: its name is good for one lease from its first batch. One round too many is not counted. */
const countRound = (
  session: SessionState,
  { roundId, leaseMs }: Round,
  { maxRounds }: SessionSettings,
  now: number,
): { readonly isRefused: boolean; readonly step: number } => {
  session.namedRounds = session.namedRounds.filter(({ joinUntil }) => joinUntil > now);
  const joined = session.namedRounds.find(({ id }) => id === roundId);
  if (joined !== undefined) return { isRefused: false, step: joined.step };
  const step = session.rounds + 1;
  if (maxRounds > 0 && step > maxRounds) return { isRefused: true, step };
  session.rounds = step;
  if (roundId !== null) {
    const named = { id: roundId, step, joinUntil: now + leaseMs };
    session.namedRounds = [...session.namedRounds, named].slice(-MAX_NAMED_ROUNDS);
  }
  return { isRefused: false, step };
};

/** The round as the loop guard tells it from others: by its step if it has a name, else 0. */
const guardStepOf = ({ roundId }: Round, step: number): number => (roundId === null ? 0 : step);

// One round too many: nothing of it runs, and nothing changes.
const refuseRound = (
  session: SessionState,
  round: Round,
  { sessionRetries, maxRounds }: SessionSettings,
  step: number,
): AdmittedRound => {
  const left = sessionRetries - spentRetries(session);
  const tools = new Map<string, AdmittedTool>();
  for (const requested of round.tools) {
    const tool = findTool(session, requested.name);
    tools.set(requested.name, createAdmittedTool({ requested, tool, denial: null }, null, left));
  }
  const refused: CallVerdict = { kind: 'limit', of: 'session_rounds', limit: maxRounds };
  return { step, tools, verdicts: round.calls.map(() => refused) };
};

/** Loop guard, then the tool's limit, call by call; neither depends on other tools. `step` is that of a named round, else 0. */
const judgeCalls = (session: SessionState, { tools, calls }: Round, step: number): readonly CallVerdict[] => {
  const limits = new Map(tools.map(({ name, maxCalls }) => [name, maxCalls]));
  const counts = new Map(session.callsOf);
  return calls.map((call) => {
    const verdict = guardCall(session, call, tools, step);
    const limit = limits.get(call.tool) ?? null;
    if (verdict.kind !== 'run' || limit === null || !call.counts) return verdict;
    const count = counts.get(call.tool) ?? 0;
    if (count >= limit) return { kind: 'limit', of: 'tool_calls', limit };
    counts.set(call.tool, count + 1);
    return verdict;
  });
};

/**
 * Whether a tool has a call to run, as far as that can be decided while only `letIn` have been asked and not denied: one
 * that loop guard and tool limit let run, and before it not so many calls that the session has none left.
 */
const createMayRun =
  (session: SessionState, { calls }: Round, judged: readonly CallVerdict[], { maxCalls }: SessionSettings) =>
  (tool: string, letIn: ReadonlySet<string>): boolean => {
    const mayRun = (call: RequestedCall, at: number): boolean => judged[at]?.kind === 'run' && call.tool === tool;
    const first = calls.findIndex(mayRun);
    if (first === -1) return !calls.some((call) => call.tool === tool);
    if (maxCalls === 0 || calls.some((call, at) => mayRun(call, at) && !call.counts)) return true;
    const before = calls.filter(
      (call, at) => at < first && judged[at]?.kind === 'run' && call.counts && letIn.has(call.tool),
    );
    return session.calls + before.length < maxCalls;
  };

/** The session's limit: of the calls that may run so far the first ones do, in the order of the batch. */
const limitCalls = (
  session: SessionState,
  round: Round,
  { judged, letIn }: { readonly judged: readonly CallVerdict[]; readonly letIn: ReadonlySet<string> },
  { maxCalls }: SessionSettings,
): readonly CallVerdict[] => {
  let left = maxCalls > 0 ? maxCalls - session.calls : Number.POSITIVE_INFINITY;
  return round.calls.map(({ tool, counts }, at) => {
    const verdict = judged[at] ?? RUN;
    if (!letIn.has(tool)) return RUN;
    if (verdict.kind !== 'run' || !counts) return verdict;
    left -= 1;
    return left < 0 ? { kind: 'limit', of: 'session_calls', limit: maxCalls } : verdict;
  });
};

/** Whether limits and loop guard have left a tool something to run; where no call of it is listed they do not ask. */
const hasCall = ({ calls }: Round, verdicts: readonly CallVerdict[], tool: string): boolean =>
  calls.some((call, at) => call.tool === tool && verdicts[at]?.kind === 'run') ||
  !calls.some((call) => call.tool === tool);

/** Counts a call that is let in (1), or that did not run after all (-1), where limits count it. Changes `session`. */
const countCall = (session: SessionState, { tools }: Round, { tool, counts }: RequestedCall, by: 1 | -1): void => {
  if (!counts) return;
  session.calls = Math.max(0, session.calls + by);
  if (tools.some(({ name, maxCalls }) => name === tool && maxCalls !== null))
    session.callsOf.set(tool, Math.max(0, (session.callsOf.get(tool) ?? 0) + by));
};

/** Whether a clean round ended so: nothing failed, every call was answered, and the session is still untroubled. */
export const endedCleanly = (session: SessionState, { outcomes, calls }: RoundReport): boolean => {
  if (!isUntroubled(session)) return false;
  for (const { failed, interrupted } of outcomes) if (failed || interrupted) return false;
  for (const { callEnd: ending, executed } of calls) if (ending !== 'answered' || !executed) return false;
  return true;
};

/** Settles any round: its budgets, its repeats, and the calls that did not run. Changes `session`. */
export const settleRound = (
  session: SessionState,
  round: Round,
  { step, verdicts, tools }: AdmittedRound & { readonly tools: ReadonlyMap<string, AdmittedTool> },
  { outcomes, calls }: RoundReport,
  now: number,
): void => {
  settleBudgets(session, outcomes, tools, now);
  for (const [at, call] of round.calls.entries()) {
    const hasRun = (verdicts[at] ?? RUN).kind !== 'run' || calls[at]?.executed !== false;
    if (!hasRun && isLetIn(tools.get(call.tool))) countCall(session, round, call, -1);
  }
  // One round too many is none: only its journal remembers it.
  const isRefused = verdicts.some((verdict) => verdict.kind === 'limit' && verdict.of === 'session_rounds');
  if (!isRefused) settleRepeats(session.repeats, round.tools, calls, guardStepOf(round, step));
};

/** Names of tools, and what each has left after a round, in turn. */
export type RetriesLeft = readonly (string | number | null)[];

export const readRetriesLeft = (tools: readonly RequestedTool[], budgets: ReadonlyMap<string, Budget>): RetriesLeft =>
  tools.flatMap(({ name }) => [name, budgets.get(name)?.remaining ?? null]);

/** Permits of a clean round, and budgets after it: one object for all equal rounds, for each element of a journal refers to it. */
export type CleanTools = {
  readonly permits: ReadonlyMap<string, Permit>;
  readonly budgets: ReadonlyMap<string, Budget>;
  readonly left: RetriesLeft;
  readonly retries: number | undefined;
  readonly sessionRetries: number;
};

// Nearly all rounds have one tool: by its name, until that tool has other retries.
const ofOneTool = new Map<string, CleanTools>();
// Tools may be renamed again and again.
const MAX_CACHED = 1024;

export const findCleanTools = (
  { tools }: Pick<Round, 'tools'>,
  { sessionRetries }: Pick<SessionSettings, 'sessionRetries'>,
): CleanTools => {
  const [tool] = tools;
  const cached = tool === undefined || tools.length > 1 ? undefined : ofOneTool.get(tool.name);
  if (cached !== undefined && cached.retries === tool?.retries && cached.sessionRetries === sessionRetries)
    return cached;
  const budgets = new Map(tools.map(({ name, retries }) => [name, toBudget(CLEAN, retries, sessionRetries)]));
  const permits = new Map<string, Permit>();
  for (const [name, budget] of budgets) permits.set(name, { decision: 'free', budget });
  const created = { permits, budgets, left: readRetriesLeft(tools, budgets), retries: tool?.retries, sessionRetries };
  if (ofOneTool.size >= MAX_CACHED) ofOneTool.clear();
  if (tool !== undefined && tools.length === 1) ofOneTool.set(tool.name, created);
  return created;
};

/** The tools of a clean round, each free: for one that settles in another way. */
export const createFreeTools = ({ permits }: CleanTools): ReadonlyMap<string, AdmittedTool> =>
  new Map(Array.from(permits, ([name, permit]) => [name, { permit, reservationId: null, epoch: 0 }]));

const CLEAN = findTool(createSessionState(''), '');
