import type {
  AskedCall,
  AskedTool,
  CallVerdict,
  Round,
  SessionSettings,
  SettledCall,
} from '../../executor/session-store.ts';
import { type AdmittedTool, isLetIn } from './admit-budgets.ts';
import { streakBefore, toLoopVerdict } from './loop-guard.ts';
import type { SessionState } from './session-state.ts';

const RUN: CallVerdict = { kind: 'run', streak: null };

/**
 * Loop guard, then the tool's limit, call by call; neither depends on other tools. `step` is that of a named round, else
 * 0. call-limits.lua is the twin of this file.
 */
export const judgeCalls = (session: SessionState, round: Round, step: number): readonly CallVerdict[] => {
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

/** The session's limit: of the calls that may run so far the first ones do, in the order of the batch. */
export const limitCalls = (
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

/**
 * Whether a tool has a call to run, as far as that can be said while only `letIn` have been asked and not denied: one
 * that loop guard and tool limit let run, and before it not so many calls that the session has none left.
 */
export const toMayRun =
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

/** Whether limits and loop guard have left a tool something to run; where no call of it is listed they do not ask. */
export const toHasCall = (round: Round, verdicts: readonly CallVerdict[]): ((tool: string) => boolean) => {
  const listed = new Set(round.calls.map(({ tool }) => tool));
  const running = new Set(round.calls.filter((_call, at) => verdicts[at]?.kind === 'run').map(({ tool }) => tool));
  return (tool) => running.has(tool) || !listed.has(tool);
};

/** Counts the calls that are let in, which for `sign` -1 are those that did not run after all. Changes `session`. */
export const countCalls = (session: SessionState, { total, ofTool }: CountedCalls, sign: 1 | -1): void => {
  session.calls = Math.max(0, session.calls + sign * total);
  for (const [name, count] of ofTool)
    session.callsOf.set(name, Math.max(0, (session.callsOf.get(name) ?? 0) + sign * count));
};

/** Calls in all, and of each tool that limits its calls. */
export type CountedCalls = { readonly total: number; readonly ofTool: ReadonlyMap<string, number> };

/** The calls of a round that are let in: what admission counts. */
export const toLetInCalls = (
  round: Round,
  verdicts: readonly CallVerdict[],
  letIn: ReadonlySet<string>,
): CountedCalls => countThose(round, (tool, at) => (verdicts[at] ?? RUN).kind === 'run' && letIn.has(tool));

/** Those of them that did not run: what settling gives back. */
export const toUnusedCalls = (
  round: Round,
  verdicts: readonly CallVerdict[],
  tools: ReadonlyMap<string, AdmittedTool>,
  settled: readonly SettledCall[],
): CountedCalls =>
  countThose(
    round,
    (tool, at) => (verdicts[at] ?? RUN).kind === 'run' && isLetIn(tools.get(tool)) && settled[at]?.executed === false,
  );

const countThose = (round: Round, isCounted: (tool: string, position: number) => boolean): CountedCalls => {
  const limits = new Map(round.tools.map(({ name, maxCalls }) => [name, maxCalls]));
  const ofTool = new Map<string, number>();
  let total = 0;
  round.calls.forEach(({ tool, counts }, position) => {
    if (!counts || !limits.has(tool) || !isCounted(tool, position)) return;
    total += 1;
    if (limits.get(tool) !== null) ofTool.set(tool, (ofTool.get(tool) ?? 0) + 1);
  });
  return { total, ofTool };
};

const guardCall = (session: SessionState, call: AskedCall, tool: AskedTool, step: number): CallVerdict => {
  if (call.mark === null) return RUN;
  const streak = streakBefore(session.streaks.get(call.tool), call.mark.print, step);
  const loop = toLoopVerdict(streak, tool);
  if (loop !== null) return loop;
  return streak.failed > 0 || streak.same > 0 ? { kind: 'run', streak } : RUN;
};
