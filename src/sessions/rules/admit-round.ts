import type { CallVerdict, Permit, Round, SessionSettings } from '../../executor/session-store.ts';
import { type AdmittedTool, assessTools, takeNothing, takeRetry, toBudget, toPermit } from './admit-budgets.ts';
import { expireClaims, findTool, spentRetries } from './budget-state.ts';
import { countCalls, judgeCalls, limitCalls, toHasCall, toLetInCalls, toMayRun } from './call-limits.ts';
import { countRound } from './count-round.ts';
import type { SessionState } from './session-state.ts';
import { forgiveUnknownNames } from './unknown-names.ts';

/** A round that was let in, wholly or in part. */
export type AdmittedRound = {
  readonly step: number;
  readonly tools: ReadonlyMap<string, AdmittedTool>;
  /** Empty where each call may run and none has a streak. */
  readonly verdicts: readonly CallVerdict[];
};

/**
 * Lets a round in: 1 counts it  2 loop guard and the tools' limits  3 asks the budgets  4 the session's limit
 * 5 reserves for those that have a call to run. Changes `session`. admit.lua is its twin.
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
  const mayRun = toMayRun(session, round, judged, settings);
  const assessed = assessTools(session, round, mayRun, { settings, now });
  const letIn = new Set(assessed.filter(({ kind }) => kind !== 'denied').map(({ asked }) => asked.name));
  const verdicts = limitCalls(session, round, { judged, letIn }, settings);
  countCalls(session, toLetInCalls(round, verdicts, letIn), 1);
  const hasCall = toHasCall(round, verdicts);
  const taken = assessed.map((assessment) => ({
    ...assessment,
    decided: hasCall(assessment.asked.name) ? takeRetry(session, assessment, round, now) : takeNothing(assessment),
  }));
  const left = settings.sessionRetries - spentRetries(session);
  const tools = taken.map(({ asked, tool, decided }): readonly [string, AdmittedTool] => {
    const permit = toPermit(decided, toBudget(tool, asked.retries, left));
    return [asked.name, { permit, claimId: decided.claimId, epoch: tool.epoch }];
  });
  return { step, tools: new Map(tools), verdicts: verdicts.every(isPlain) ? [] : verdicts };
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
  const tools = round.tools.map(({ name, retries }): readonly [string, AdmittedTool] => {
    const tool = findTool(session, name);
    const budget = toBudget(tool, retries, left);
    const permit: Permit = { decision: tool.failures > 0 ? 'idle' : 'free', budget };
    return [name, { permit, claimId: null, epoch: tool.epoch }];
  });
  const refused: CallVerdict = { kind: 'limit', of: 'session_rounds', limit: maxRounds };
  return { step, tools: new Map(tools), verdicts: round.calls.map(() => refused) };
};

const isPlain = (verdict: CallVerdict): boolean => verdict.kind === 'run' && verdict.streak === null;
