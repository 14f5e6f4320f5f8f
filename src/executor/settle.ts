import { FAILURE_POLICY } from '../contract/failure.ts';
import type { Batch, Call } from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import { createRoundJournal } from './journal.ts';
import type { Redactor } from './redactor.ts';
import type { Admission, Budget, RoundReport, SettledCall, ToolOutcome } from './session-store.ts';

export type Budgets = ReadonlyMap<string, Budget>;

/**
 * 7 settles a batch in the store that admitted it, and keeps the budgets after it. Waits only where the answer must: first
 * attempts that all succeeded, with no repeated failure standing, change no budget, and what they add to streaks and
 * journal may be late.
 */
export const settleBatch = (batch: Batch): Promise<void> | undefined => {
  const { admission, services, request } = batch;
  if (admission === null) return undefined;
  const isClean = isUntroubled(admission) && batch.calls.every(({ outcome }) => outcome?.kind === 'success');
  // Without a session nothing outlives the batch.
  if (isClean && request.sessionKey === null) return undefined;
  const settled = settleSafely(batch, admission);
  if (isClean) {
    if (!(settled instanceof Promise)) return undefined;
    services.open.begin();
    void settled.then(() => services.open.end());
    return undefined;
  }
  if (settled instanceof Promise)
    return settled.then((budgets) => {
      batch.budgets = budgets;
    });
  batch.budgets = settled;
  return undefined;
};

const settleSafely = (batch: Batch, admission: Admission): Budgets | Promise<Budgets> => {
  const violated = (error: unknown): Budgets => {
    batch.services.observer.contractViolated(error, batch.request.requestId);
    return NO_BUDGETS;
  };
  try {
    const settling = admission.settle(createReport(batch, admission));
    return settling instanceof Promise ? settling.catch(violated) : settling;
  } catch (error) {
    return violated(error);
  }
};

const NO_BUDGETS: Budgets = new Map();

/** No retry, nothing refused, and no call that failed the last time it was made. */
const isUntroubled = ({ permits, verdicts }: Admission): boolean => {
  for (const { decision } of permits.values()) if (decision !== 'free') return false;
  return verdicts.every((verdict) => verdict.kind === 'run' && (verdict.repeats?.failed ?? 0) === 0);
};

const createReport = (batch: Batch, { step }: Admission): RoundReport => {
  const outcomes = summariseTools(batch);
  const isUnwritten = batch.request.sessionKey === null || batch.request.resumed !== undefined;
  if (isUnwritten) return { outcomes, calls: NO_CALLS, journal: null };
  return { outcomes, calls: batch.requested, journal: createRoundJournal(batch, step) };
};

const NO_CALLS: readonly SettledCall[] = [];

/** How the round went, tool by tool: several failures of one tool are one mistake, one success beside them is progress. */
const summariseTools = ({ calls, services }: Batch): readonly ToolOutcome[] => {
  const rounds: RoundOutcome[] = [];
  let round: RoundOutcome | undefined;
  for (const call of calls) {
    if (!isSettled(call)) continue;
    const name = call.budgetKey;
    if (round?.name !== name) {
      round = rounds.find((one) => one.name === name);
      if (round === undefined) {
        round = { name, failed: false, succeeded: false, interrupted: false, error: '' };
        rounds.push(round);
      }
    }
    // A call that goes on settles when it ends: here it is neither, and its retry comes back.
    if (!call.isAccepted) addOutcome(round, call.outcome, services.redactor);
  }
  return rounds;
};

const isSettled = ({ isAsked, outcome, isAccepted }: Call): boolean => isAsked && (outcome !== null || isAccepted);

type RoundOutcome = { -readonly [Key in keyof ToolOutcome]: ToolOutcome[Key] };

const addOutcome = (round: RoundOutcome, outcome: CallOutcome | null, redactor: Redactor): void => {
  if (outcome === null) return;
  if (outcome.kind === 'success') {
    round.succeeded = true;
    return;
  }
  const { code, executed, fatal, message } = outcome.failure;
  if (code === 'cancelled' && executed !== 'no') round.interrupted = true;
  // Whether it counts as a failure of the tool in its session.
  if (fatal || FAILURE_POLICY[code].charges === false) return;
  round.failed = true;
  // Several failures of one round are one mistake: the first speaks for it.
  if (round.error === '') round.error = toLine(message, redactor);
};

const MAX_LINE = 200;
// It is kept, and others of the tenant read it: what the caller sent is redacted here, too.
const toLine = (message: string, redactor: Redactor): string =>
  redactor.cut(message.replace(/[^\S ]\s*| \s+/g, ' '), MAX_LINE, 'journal');
