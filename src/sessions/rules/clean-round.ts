import type {
  AskedCall,
  AskedTool,
  Budget,
  CallVerdict,
  Permit,
  Round,
  RoundReport,
  SessionSettings,
  Streak,
} from '../../executor/session-store.ts';
import { addAnswers, endFailuresOfOthers, streakBefore, toLoopVerdict } from './loop-guard.ts';
import { type AdmittedTool, type RetriesLeft, toBudget, toErrorLine, toRetriesLeft } from './retry-budgets.ts';
import { createSessionState, findTool, type SessionState } from './session-state.ts';

/*
 * All but every round: nothing has failed in its session, nothing is limited, it has no name, and the loop guard refuses
 * none of its calls. What admitRound and settleRound come to then is told here in loops that make next to nothing. Whatever else is the case, these functions say so and change nothing.
 */

/** Verdicts of a clean round: empty where no call has a streak. */
export type CleanRound = { readonly step: number; readonly verdicts: readonly CallVerdict[] };

/** Admits a clean round; null where it is none. Changes `session`. */
export const admitClean = (session: SessionState, round: Round, settings: SessionSettings): CleanRound | null => {
  if (!isUntroubled(session) || !isUnlimited(round, settings)) return null;
  const verdicts = session.streaks.size === 0 ? NO_VERDICTS : guardCalls(session, round);
  if (verdicts === null) return null;
  session.rounds += 1;
  for (const { counts } of round.calls) if (counts) session.calls += 1;
  return { step: session.rounds, verdicts };
};

const NO_VERDICTS: readonly CallVerdict[] = [];

/** The tools of a clean round as admitted, each free; settling in another way than cleanly needs them. */
export const toAdmittedTools = ({ permits }: CleanTools): ReadonlyMap<string, AdmittedTool> => {
  const tools = new Map<string, AdmittedTool>();
  for (const [name, permit] of permits) tools.set(name, { permit, claimId: null, epoch: 0 });
  return tools;
};

/**
 * The budgets after the only round of a session, where it has no name: what failed and did not succeed as well has failed
 * once.
 */
export const toBudgetsOfOnly = (
  { tools }: Round,
  { outcomes }: RoundReport,
  { sessionRetries }: CleanSettings,
): ReadonlyMap<string, Budget> => {
  const budgets = new Map<string, Budget>();
  for (const { name, retries } of tools) {
    const outcome = outcomes.find((one) => one.name === name);
    const hasFailed = outcome?.failed === true && !outcome.succeeded;
    const tool = hasFailed ? { ...CLEAN, failures: 1, lastError: toErrorLine(outcome.error) } : CLEAN;
    budgets.set(name, toBudget(tool, retries, sessionRetries));
  }
  return budgets;
};

/** Whether a round that was admitted cleanly ended so: every call was answered, and the session is still untroubled. */
export const endedCleanly = (session: SessionState, report: RoundReport): boolean =>
  isUntroubled(session) && isAnswered(report);

/** Whether nothing failed and every call was answered. */
export const isAnswered = ({ outcomes, calls }: RoundReport): boolean => {
  for (const { failed, interrupted } of outcomes) if (failed || interrupted) return false;
  for (const { ending, executed } of calls) if (ending !== 'answered' || !executed) return false;
  return true;
};

/** What settling has done: `nothing` to write down, streaks of the `same` weight as before, or of another one. */
type CleanSettling = 'nothing' | 'same' | 'other';

/** Settles a round that ended cleanly. Changes `session`. */
export const settleClean = (session: SessionState, round: Round, { calls }: RoundReport): CleanSettling => {
  const { streaks } = session;
  let done: CleanSettling = 'nothing';
  for (const { name, effects } of round.tools) {
    if (effects === 'read' || !calls.some(({ tool }) => tool === name)) continue;
    const hasOthers = streaks.size > (streaks.has(name) ? 1 : 0);
    endFailuresOfOthers(streaks, name);
    done = heavier(done, hasOthers ? 'other' : 'same');
  }
  for (const { name } of round.tools) done = heavier(done, addAnswers(streaks, name, calls));
  return done;
};

const heavier = (one: CleanSettling, other: CleanSettling): CleanSettling =>
  one === 'other' || other === 'nothing' ? one : other;

const isUntroubled = (session: SessionState): boolean =>
  session.tools.size === 0 && session.lost === 0 && session.namedRounds.length === 0 && session.knownRound === '';

const isUnlimited = ({ roundId, tools }: Round, { maxCalls, maxRounds }: SessionSettings): boolean => {
  if (roundId !== null || maxCalls !== 0 || maxRounds !== 0) return false;
  for (const tool of tools) if (tool.maxCalls !== null) return false;
  return true;
};

/** What the loop guard says of each call; null where it refuses one. */
const guardCalls = (session: SessionState, { tools, calls }: Round): readonly CallVerdict[] | null => {
  let verdicts: CallVerdict[] | null = null;
  for (const [at, call] of calls.entries()) {
    const streak = findStreak(session, call);
    if (streak === null) continue;
    const tool = tools.find(({ name }) => name === call.tool);
    if (tool === undefined || toLoopVerdict(streak, tool) !== null) return null;
    verdicts ??= calls.map(() => RUN);
    verdicts[at] = { kind: 'run', streak };
  }
  return verdicts ?? NO_VERDICTS;
};

const findStreak = ({ streaks }: SessionState, call: AskedCall): Streak | null => {
  const ofTool = streaks.get(call.tool);
  // The hash is computed when it is read: not for a tool that has no streaks.
  if (ofTool === undefined || call.callHash === null) return null;
  const streak = streakBefore(ofTool, call.callHash, 0);
  return streak.failed === 0 && streak.same === 0 ? null : streak;
};

const RUN: CallVerdict = { kind: 'run', streak: null };

type CleanSettings = Pick<SessionSettings, 'sessionRetries'>;

/** What a clean round is let in by, and what is left after it: one for all that are equal, for each element of a journal keeps it. */
export type CleanTools = {
  readonly permits: ReadonlyMap<string, Permit>;
  readonly budgets: ReadonlyMap<string, Budget>;
  readonly left: RetriesLeft;
};

// Those of a round with one tool, as nearly all are, by its name: the same for all sessions, until that tool has other retries.
const ofOneTool = new Map<string, CleanTools & { readonly retries: number; readonly sessionRetries: number }>();
// Tools may be renamed again and again.
const MOST_TOOLS = 1024;

export const toCleanTools = ({ tools }: Round, { sessionRetries }: CleanSettings): CleanTools => {
  const [tool] = tools;
  if (tool === undefined || tools.length > 1) return createCleanTools(tools, sessionRetries);
  const { name, retries } = tool;
  const cached = ofOneTool.get(name);
  if (cached !== undefined && cached.retries === retries && cached.sessionRetries === sessionRetries) return cached;
  if (ofOneTool.size >= MOST_TOOLS) ofOneTool.clear();
  const created = { retries, sessionRetries, ...createCleanTools(tools, sessionRetries) };
  ofOneTool.set(name, created);
  return created;
};

const createCleanTools = (tools: readonly AskedTool[], sessionRetries: number): CleanTools => {
  const budgets = new Map(tools.map(({ name, retries }) => [name, toBudget(CLEAN, retries, sessionRetries)]));
  const permits = new Map<string, Permit>();
  for (const [name, budget] of budgets) permits.set(name, { decision: 'free', budget });
  return { permits, budgets, left: toRetriesLeft(tools, budgets) };
};

const CLEAN = findTool(createSessionState(''), '');
