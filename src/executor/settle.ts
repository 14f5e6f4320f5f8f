import { FAILURE_POLICY } from '../contract/failure.ts';
import { bucketOf, toAskedCall } from './admit.ts';
import { type Batch, type Call, isReady } from './call.ts';
import { fingerprintOf, readArguments, toArgumentsJson } from './call-arguments.ts';
import type { CallOutcome, SuccessOutcome } from './call-outcome.ts';
import { toTextPrint } from './call-print.ts';
import { toHiding } from './journal/arguments-preview.ts';
import type { AskedEntry } from './journal/asked-entry.ts';
import type { JournalCall, JournalEnd } from './journal/journal-line.ts';
import {
  createRoundJournal,
  PLAIN_SUCCESS,
  type SettlingBatch,
  type SettlingJournal,
} from './journal/round-journal.ts';
import { LazyMark } from './lazy-mark.ts';
import type { Redactor } from './redaction/redactor.ts';
import type {
  Admission,
  AnswerMark,
  Budget,
  CallEnding,
  RoundReport,
  SettledCall,
  Streak,
  ToolOutcome,
} from './session-store.ts';

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
    void settled.then(services.open.end);
    return undefined;
  }
  if (settled instanceof Promise) return settled.then((budgets) => keepBudgets(batch, budgets));
  keepBudgets(batch, settled);
  return undefined;
};

const keepBudgets = (batch: Batch, budgets: Budgets): void => {
  batch.budgets = budgets;
};

const settleSafely = (batch: Batch, admission: Admission): Budgets | Promise<Budgets> => {
  const violated = (error: unknown): Budgets => {
    batch.services.observer.contractViolated(error, batch.request.requestId);
    return NO_BUDGETS;
  };
  try {
    const report = toReport(batch, admission);
    const settling = admission.settle(report);
    // A store that shares its journal renders it before it waits.
    report.journal?.release();
    return settling instanceof Promise ? settling.catch(violated) : settling;
  } catch (error) {
    return violated(error);
  }
};

const NO_BUDGETS: Budgets = new Map();

/** No retry, nothing refused, and no call that failed the last time it was made. */
const isUntroubled = ({ permits, verdicts }: Admission): boolean => {
  for (const { decision } of permits.values()) if (decision !== 'free') return false;
  return verdicts.every((verdict) => verdict.kind === 'run' && (verdict.streak?.failed ?? 0) === 0);
};

type SettlingReport = RoundReport & { readonly journal: SettlingJournal | null };

const toReport = (batch: Batch, admission: Admission): SettlingReport => {
  const settled = batch.calls.filter(({ isAsked }) => isAsked);
  const outcomes = toRoundOutcomes(settled, batch.services.redactor);
  if (batch.request.sessionKey === null) return { outcomes, calls: [], journal: null };
  return { outcomes, calls: settled.flatMap(toSettledCall), journal: toJournal(batch, admission) };
};

const toJournal = ({ calls, request, services }: Batch, { step }: Admission): SettlingJournal | null => {
  if (services.journal === 0) return null;
  const written = calls.filter(({ storedResult }) => storedResult === null).slice(-services.journal);
  if (written.length === 0) return null;
  return createRoundJournal({
    step,
    time: services.time(),
    requestId: request.requestId,
    body: request.form === 'calls' ? request.source : null,
    settling: toSettlingBatch(calls),
    calls: written.map(toJournalCall),
    redactor: services.redactor,
  });
};

const NOTHING_ASKED: AskedEntry = { id: null, name: null, given: undefined };

// Beside no other closure: whatever one of them names would be kept with the journal.
const toSettlingBatch = (calls: readonly Call[]): SettlingBatch => ({
  size: calls.length,
  entryOf: (index) => {
    const call = calls[index];
    return call === undefined ? NOTHING_ASKED : { id: call.id, name: call.name, given: call.rawArguments };
  },
  argumentsOf: (index) => {
    const call = calls[index];
    if (call === undefined || !isReady(call)) return null;
    return { text: toArgumentsJson(call), fingerprint: fingerprintOf(call) };
  },
});

const toJournalCall = (call: Call): JournalCall => ({
  index: call.index,
  kind: call.kind,
  tool: call.kind === 'refused' && call.tool === null ? null : bucketOf(call),
  readable: isReady(call) && readArguments(call).ok,
  hiding: isReady(call) ? toHiding(call.tool.inputSchema) : null,
  end: toJournalEnd(call),
  durationMs: call.durationMs,
});

// Without the value, which may be large.
const toJournalEnd = ({ event }: Call): JournalEnd => {
  if (event === null) return PLAIN_SUCCESS;
  const { success, outcome, executed, code, fault, message, replayed } = event;
  return success && outcome === 'success' && executed === 'yes' && message === '' && !replayed
    ? PLAIN_SUCCESS
    : { success, outcome, executed, code, fault, message, replayed };
};

/** How the round went, tool by tool: several failures of one tool are one mistake, one success beside them is progress. */
const toRoundOutcomes = (calls: readonly Call[], redactor: Redactor): readonly ToolOutcome[] => {
  const rounds = new Map<string, RoundOutcome>();
  for (const call of calls) {
    if (call.outcome === null) continue;
    const name = bucketOf(call);
    const round = rounds.get(name) ?? { name, failed: false, succeeded: false, interrupted: false, error: '' };
    rounds.set(name, round);
    addOutcome(round, call.outcome, redactor);
  }
  return [...rounds.values()];
};

type RoundOutcome = { -readonly [Key in keyof ToolOutcome]: ToolOutcome[Key] };

const addOutcome = (round: RoundOutcome, outcome: CallOutcome, redactor: Redactor): void => {
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
  redactor.cut(message.replace(/\s+/g, ' '), MAX_LINE, 'journal');

// Reasons a model owns: the same call would end the same way. A timeout, a crash or an upstream may be better next time.
const OWNED_CODES: ReadonlySet<string> = new Set([
  'invalid_arguments',
  'retry_requested',
  'tool_exception',
  'tool_failed',
]);

/** How a call ended, as limits and loop guard count it. */
const toSettledCall = (call: Call): SettledCall | readonly never[] => {
  const { outcome } = call;
  if (outcome === null) return [];
  const answer = outcome.kind === 'success' ? toAnswerMark(outcome) : null;
  const executed = outcome.kind === 'success' || outcome.failure.executed !== 'no';
  return { ...toAskedCall(call), ending: toEnding(outcome), answer, executed };
};

/** What two equal answers have in common. */
const toAnswerMark = ({ valueJson }: SuccessOutcome): AnswerMark => new LazyMark(() => toTextPrint(valueJson));

/** Whether the answer that a streak remembers is this one. */
export const isSameAnswer = ({ answer }: Streak, { valueJson }: SuccessOutcome): boolean =>
  answer === toTextPrint(valueJson);

const toEnding = (outcome: CallOutcome): CallEnding => {
  if (outcome.kind === 'success') return 'answered';
  const { code, executed } = outcome.failure;
  if (OWNED_CODES.has(code)) return 'failed';
  if (code === 'loop_detected') return 'looped';
  const isRefused = FAILURE_POLICY[code].outcome.safe === 'refused' || executed === 'no';
  return isRefused && FAILURE_POLICY[code].fault !== 'upstream' ? 'not_run' : 'other';
};
