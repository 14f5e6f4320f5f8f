import type {
  AskedCall,
  AskedTool,
  Budget,
  CallVerdict,
  Round,
  RoundJournal,
  RoundReport,
  SessionSettings,
  ToolOutcome,
} from '../../executor/session-store.ts';
import { type RoundEndings, settleStreaks, streakBefore, toLoopVerdict, toRoundEndings } from './loop-guard.ts';
import {
  type AdmittedTool,
  type Assessment,
  assessTools,
  forgiveUnknownNames,
  isLetIn,
  isWorthSettling,
  settleBudgets,
  takeNothing,
  takeRetry,
  toAdmittedTool,
  toBudget,
} from './retry-budgets.ts';
import { countRound, expireClaims, findTool, type SessionState, spentRetries } from './session-state.ts';

/** A round that was let in, wholly or in part. */
export type AdmittedRound = {
  readonly step: number;
  readonly tools: ReadonlyMap<string, AdmittedTool>;
  /** Empty where each call may run and none has a streak. */
  readonly verdicts: readonly CallVerdict[];
};

const RUN: CallVerdict = { kind: 'run', streak: null };

/**
 * Lets a round in: 1 counts it  2 loop guard and the tools' limits  3 asks the budgets  4 the session's limit
 * 5 reserves for those that have a call to run. Changes `session`.
 */
export const admitRound = (
  session: SessionState,
  round: Round,
  settings: SessionSettings,
  now: number,
): AdmittedRound => {
  expireClaims(session, now);
  const { kind, step } = countRound(session, round, settings, now);
  if (kind === 'refused') return refuseRound(session, round, settings, step);
  forgiveUnknownNames(session, round, now);
  const judged = judgeCalls(session, round, toGuardStep(round, step));
  const assessed = assessTools(session, round, toMayRun(session, round, judged, settings), { settings, now });
  const letIn = new Set(assessed.filter(({ denial }) => denial === null).map(({ requested }) => requested.name));
  const verdicts = limitCalls(session, round, { judged, letIn }, settings);
  countCalls(
    session,
    selectCalls(round, (tool, at) => verdicts[at]?.kind === 'run' && letIn.has(tool)),
    1,
  );
  const hasCall = toHasCall(round, verdicts);
  const decisions = assessed.map((assessment) =>
    hasCall(assessment.requested.name) ? takeRetry(session, assessment, round, now) : takeNothing(assessment),
  );
  const left = settings.sessionRetries - spentRetries(session);
  const tools = new Map<string, AdmittedTool>();
  for (const [at, assessment] of assessed.entries())
    tools.set(assessment.requested.name, toAdmittedTool(assessment, decisions[at] ?? takeNothing(assessment), left));
  const isPlain = verdicts.every((verdict) => verdict.kind === 'run' && verdict.streak === null);
  return { step, tools, verdicts: isPlain ? [] : verdicts };
};

/** The round as the loop guard tells it from others: by its step if it has a name, else 0. */
export const toGuardStep = ({ roundId }: Pick<Round, 'roundId'>, step: number): number => (roundId === null ? 0 : step);

// One round too many: nothing of it runs, and nothing changes.
const refuseRound = (
  session: SessionState,
  round: Round,
  { sessionRetries, maxRounds }: SessionSettings,
  step: number,
): AdmittedRound => {
  const left = sessionRetries - spentRetries(session);
  const tools = round.tools.map((requested): readonly [string, AdmittedTool] => {
    const assessment: Assessment = {
      requested,
      tool: findTool(session, requested.name),
      denial: null,
      claim: undefined,
    };
    return [requested.name, toAdmittedTool(assessment, takeNothing(assessment), left)];
  });
  const refused: CallVerdict = { kind: 'limit', of: 'session_rounds', limit: maxRounds };
  return { step, tools: new Map(tools), verdicts: round.calls.map(() => refused) };
};

/** Loop guard, then the tool's limit, call by call; neither depends on other tools. `step` is that of a named round, else 0. */
const judgeCalls = (session: SessionState, round: Round, step: number): readonly CallVerdict[] => {
  const toolOf = new Map(round.tools.map((tool) => [tool.name, tool]));
  const counts = new Map(session.callsOf);
  return round.calls.map((call) => {
    const tool = toolOf.get(call.tool);
    if (tool === undefined) return RUN;
    const verdict = guardCall(session, call, tool, step);
    if (verdict.kind !== 'run' || tool.maxCalls === null || !call.counts) return verdict;
    const count = counts.get(tool.name) ?? 0;
    if (count >= tool.maxCalls) return { kind: 'limit', of: 'tool_calls', limit: tool.maxCalls };
    counts.set(tool.name, count + 1);
    return verdict;
  });
};

const guardCall = (session: SessionState, call: AskedCall, tool: AskedTool, step: number): CallVerdict => {
  const ofTool = session.streaks.get(call.tool);
  // The hash is computed when it is read: not for a tool that has no streaks.
  if (ofTool === undefined || call.callHash === null) return RUN;
  const streak = streakBefore(ofTool, call.callHash, step);
  const loop = toLoopVerdict(streak, tool);
  if (loop !== null) return loop;
  return streak.failed > 0 || streak.same > 0 ? { kind: 'run', streak } : RUN;
};

/**
 * Whether a tool has a call to run, as far as that can be said while only `letIn` have been asked and not denied: one
 * that loop guard and tool limit let run, and before it not so many calls that the session has none left.
 */
const toMayRun =
  (session: SessionState, { calls }: Round, judged: readonly CallVerdict[], { maxCalls }: SessionSettings) =>
  (tool: string, letIn: ReadonlySet<string>): boolean => {
    const mayRun = (call: AskedCall, at: number): boolean => judged[at]?.kind === 'run' && call.tool === tool;
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
  return round.calls.map(({ tool, counts }, position) => {
    const verdict = judged[position] ?? RUN;
    if (!letIn.has(tool)) return RUN;
    if (verdict.kind !== 'run' || !counts) return verdict;
    left -= 1;
    return left < 0 ? { kind: 'limit', of: 'session_calls', limit: maxCalls } : verdict;
  });
};

/** Whether limits and loop guard have left a tool something to run; where no call of it is listed they do not ask. */
const toHasCall = (round: Round, verdicts: readonly CallVerdict[]): ((tool: string) => boolean) => {
  const listed = new Set(round.calls.map(({ tool }) => tool));
  const running = new Set(round.calls.filter((_call, at) => verdicts[at]?.kind === 'run').map(({ tool }) => tool));
  return (tool) => running.has(tool) || !listed.has(tool);
};

/** Calls in all, and of each tool that limits its calls. */
type CountedCalls = { readonly total: number; readonly ofTool: ReadonlyMap<string, number> };

/** The calls of a round that limits count and that are selected. */
const selectCalls = (round: Round, isSelected: (tool: string, position: number) => boolean): CountedCalls => {
  const limits = new Map(round.tools.map(({ name, maxCalls }) => [name, maxCalls]));
  const ofTool = new Map<string, number>();
  let total = 0;
  for (const [position, { tool, counts }] of round.calls.entries()) {
    if (!counts || !limits.has(tool) || !isSelected(tool, position)) continue;
    total += 1;
    if (limits.get(tool) !== null) ofTool.set(tool, (ofTool.get(tool) ?? 0) + 1);
  }
  return { total, ofTool };
};

/** Counts the calls that are let in, which for `sign` -1 are those that did not run after all. Changes `session`. */
const countCalls = (session: SessionState, { total, ofTool }: CountedCalls, sign: 1 | -1): void => {
  session.calls = Math.max(0, session.calls + sign * total);
  for (const [name, count] of ofTool)
    session.callsOf.set(name, Math.max(0, (session.callsOf.get(name) ?? 0) + sign * count));
};

/** What came of a round, in the terms in which every store settles it. */
export type Settlement = {
  /** Of the tools that were let in. */
  readonly outcomes: readonly ToolOutcome[];
  readonly endings: RoundEndings;
  /** Tools by which something has changed: what failed with others may go well now. */
  readonly changers: ReadonlySet<string>;
  /** Calls that admission counted and that did not run. */
  readonly unused: CountedCalls;
  /** null where there is none to keep. */
  readonly journal: RoundJournal | null;
};

/** The settlement of a round; null where settling would write nothing. */
export const toSettlement = (
  round: Round,
  { tools, verdicts }: Pick<AdmittedRound, 'tools' | 'verdicts'>,
  report: RoundReport,
  settings: SessionSettings,
): Settlement | null => {
  const outcomes = report.outcomes.filter(({ name }) => isLetIn(tools.get(name)));
  // One round too many is none: nothing but its journal remembers it.
  const isRefused = verdicts.some((verdict) => verdict.kind === 'limit' && verdict.of === 'session_rounds');
  const endings: RoundEndings = isRefused ? new Map() : toRoundEndings(report.calls);
  const changers = toChangers(round, report);
  const unused = selectCalls(
    round,
    (tool, at) =>
      (verdicts[at] ?? RUN).kind === 'run' && isLetIn(tools.get(tool)) && report.calls[at]?.executed === false,
  );
  const journal = settings.journal > 0 ? report.journal : null;
  const changesMore = endings.size > 0 || changers.size > 0 || unused.total > 0 || journal !== null;
  return changesMore || outcomes.some((outcome) => isWorthSettling(outcome, tools.get(outcome.name)))
    ? { outcomes, endings, changers, unused, journal }
    : null;
};

const toChangers = ({ tools }: Round, { calls }: RoundReport): ReadonlySet<string> => {
  const changing = new Set(tools.filter(({ effects }) => effects !== 'read').map(({ name }) => name));
  const answered = calls.filter(({ tool, ending }) => ending === 'answered' && changing.has(tool));
  return new Set(answered.map(({ tool }) => tool));
};

/**
 * Settles a round: its budgets, its streaks, and the calls that did not run. `guardStep` is the round as the loop guard
 * knows it. Changes `session`.
 */
export const settleRound = (
  session: SessionState,
  { outcomes, endings, changers, unused }: Settlement,
  { tools, guardStep }: { readonly tools: ReadonlyMap<string, AdmittedTool>; readonly guardStep: number },
  now: number,
): void => {
  settleBudgets(session, outcomes, tools, now);
  settleStreaks(session.streaks, endings, changers, guardStep);
  countCalls(session, unused, -1);
};

/** What the tools of a round have left now. Drops reservations whose lease is over. */
export const readBudgets = (
  session: SessionState,
  { tools }: Round,
  { sessionRetries }: SessionSettings,
  now: number,
): ReadonlyMap<string, Budget> => {
  expireClaims(session, now);
  const left = sessionRetries - spentRetries(session);
  return new Map(tools.map(({ name, retries }) => [name, toBudget(findTool(session, name), retries, left)]));
};
