import type { LateResult } from '../contract/session.ts';
import type { RenderedResult, RetryState, Warning } from '../contract/tool-result.ts';
import { toTextHash } from '../json/value-hash.ts';
import { type Batch, type Call, isReady, NO_RESULT } from './call.ts';
import { createEvent, isReplayed } from './call-event.ts';
import type { ToolInvoked } from './call-observer.ts';
import { type CallOutcome, type Failure, failed, toFailure } from './call-outcome.ts';
import { effectIdOf } from './effect-id.ts';
import { INTERNAL_ERROR_TEXT, identicalCallText, toSuffix } from './failure-text.ts';
import { showArguments } from './journal.ts';
import { MAX_REQUEST_ID, toLateLine } from './journal-entries.ts';
import { renderAccepted } from './pending-result.ts';
import { DUPLICATE_ID_WARNING } from './read-calls.ts';
import { readSent, redactOutcome } from './redact-outcome.ts';
import { NO_NOTES, renderOutcome, toEndedResult, toRetryState } from './render-result.ts';
import { type Budget, UNKNOWN_TOOL } from './session-store.ts';
import { withMembers } from './stored-result.ts';
import { endWrite } from './unknown-write.ts';

// How a call is answered: with its batch, before it while other calls run (`answerEarly`), and after it (`watchLate`). Each
// way redacts the outcome, then renders it.

/**
 * 6 gives copies the outcome of their original, cuts each outcome to what the answer has room for, and redacts it: log,
 * journal and subscribers get the redacted one, too.
 */
export const prepareAnswers = (batch: Batch): undefined => {
  if (batch.hasDuplicates) for (const call of batch.calls) copyOriginal(call);
  for (const call of batch.calls) prepareAnswer(call);
};

const prepareAnswer = (call: Call): void => {
  const { size } = call.batch;
  if (call.isAnswered) size.count(call);
  // A pending call has its event with its own run.
  else if (call.isAccepted) redact(call);
  else {
    if (call.outcome === null) reportFailedBatch(call);
    size.fit(call);
    redact(call);
  }
};

/** Answers the call that has ended while others run, and those behind it that waited for its size. */
export const answerEarly = (call: Call): void => {
  const { batch } = call;
  if (mayAnswerEarly(call)) answerNow(call);
  if (batch.size.storedBytes === 0) return;
  for (const other of batch.calls) if (other.index > call.index && mayAnswerEarly(other)) answerNow(other);
};

/**
 * Whether the result of a call can be sent while other calls run, because none of them can change it:
 * - it is a success: the settlement of its round may add to the message of a failure;
 * - neither its batch nor the call has a record: a result says whether it was stored;
 * - it is no copy and has none: a copy counts towards the size of the answer in its own place;
 * - its value has room, whatever the values of the calls before it come to.
 */
const mayAnswerEarly = (call: Call): boolean => {
  const { batch, outcome, isAnswered } = call;
  if (isAnswered || outcome?.kind !== 'success' || call.original !== null) return false;
  if (batch.record !== null || call.record !== null) return false;
  if (batch.hasDuplicates && batch.calls.some(({ original }) => original === call)) return false;
  return batch.size.hasRoomFor(call, batch.calls, batch.services.maxResultBytes);
};

const answerNow = (call: Call): void => {
  const { services, request } = call.batch;
  redact(call);
  renderAnswer(call);
  call.isAnswered = true;
  services.loopSlice.spend(call.result.json.length * TEXTS_OF_A_RESULT);
  request.listener?.result?.(call.index, call.result);
};

// As value, as result, and as what is sent.
const TEXTS_OF_A_RESULT = 3;

// A copy whose result an earlier try left has a state of its own.
const copyOriginal = (call: Call): void => {
  const { original } = call;
  if (original === null || call.outcome !== null || call.state.kind === 'pending') return;
  const { state, outcome, late } = original;
  call.durationMs = original.durationMs;
  if (state.kind === 'pending' || state.kind === 'ended') call.state = { ...state, by: 'another_batch' };
  else if (state.kind === 'replayed' && state.result !== null)
    call.state = { ...state, result: withMembers(state.result, { index: call.index }) };
  else if (outcome !== null) call.state = { kind: 'copied', outcome, late };
};

// Never seen; a hole in the schedule must not become a hole in the answer.
const reportFailedBatch = (call: Call): void => {
  const { services, request } = call.batch;
  services.observer.contractViolated(new Error('A call has no outcome.'), request.requestId);
  call.fail(toFailure('internal_error', INTERNAL_ERROR_TEXT, null));
};

const redact = (call: Call): void => {
  const { outcome, state, batch } = call;
  if (outcome === null) return;
  if ((state.kind === 'replayed' || state.kind === 'ended') && state.result !== null) {
    const result = batch.services.redactor.result(state.result, 'result', () => readSent(call));
    if (result !== state.result) call.state = { ...state, result };
    return;
  }
  const redacted = redactOutcome(outcome, call);
  if (redacted !== outcome) call.end(redacted);
};

/** 8 turns outcomes into results, in the order of the calls, and tells observer, log and trace of each call, once. */
export const renderAnswers = (batch: Batch): undefined => {
  for (const call of batch.calls) {
    if (call.isAccepted) renderPending(call);
    else if (!call.isAnswered) renderAnswer(call);
  }
  if (batch.hasRetries) tellRecovered(batch);
  observeBatch(batch);
};

const renderPending = (call: Call): void => {
  call.result = renderAccepted(call);
  call.batch.services.audit?.called(call);
};

const renderAnswer = (call: Call): void => {
  const { outcome, batch } = call;
  const { services } = batch;
  const { observer } = services;
  const failure = outcome?.kind === 'failure' ? outcome.failure : null;
  // What is answered again is counted once: a copy, and a repeat of a keyed batch.
  if (!isReplayed(call)) observer.callAnswered(batch.request.tenant, call.budgetKey, failure, call.durationMs);
  const isWatched = observer.toolInvoked !== null || batch.request.trace !== null;
  if (isWatched || failure !== null) renderWatched(call, createEvent(call), failure);
  else renderOwn(call);
  // That of a resumed call is written when it is known that no other worker runs it again.
  if (services.audit !== null && batch.request.resumed === undefined) services.audit.called(call);
};

/** Tells of each tool once, however many calls of the batch have succeeded. */
const tellRecovered = ({ admission, calls, request, services }: Batch): void => {
  for (const [tool, permit] of admission?.permits ?? []) {
    if (permit.decision !== 'retry' || permit.budget === null) continue;
    if (calls.some((call) => call.budgetKey === tool && call.outcome?.kind === 'success' && !isReplayed(call)))
      services.observer.callRecovered(request.tenant, tool, permit.budget.failures);
  }
};

const renderOwn = (call: Call): void => {
  const { outcome, storedResult } = call;
  if (storedResult !== null) call.result = toEndedResult(storedResult);
  else if (outcome !== null)
    call.result = renderOutcome(outcome.forCaller ?? outcome, call, listWarnings(call), NO_NOTES);
};

const renderWatched = (call: Call, event: ToolInvoked, failure: Failure | null): void => {
  const { services, request } = call.batch;
  services.observer.toolInvoked?.(event);
  let retry: RetryState | null = null;
  if (failure !== null && call.storedResult === null) retry = renderFailure(call, event, failure);
  else renderOwn(call);
  request.trace?.callEnded(event, { argumentsText: () => (isReady(call) ? showArguments(call) : null), retry });
};

/** Renders a failure that this batch came to, and writes it to the log; gives what its result says of retries. */
const renderFailure = (call: Call, event: ToolInvoked, failure: Failure): RetryState | null => {
  const { services, admission } = call.batch;
  const budget = findBudget(call, failure.code);
  const retry = toRetryState(failure, budget, admission);
  if (failure.executed === 'maybe' && isReady(call)) effectIdOf(call);
  call.reference = services.failureLog.write(event, failure);
  const suffix = toSuffix(failure, toolNameOf(call), budget);
  const outcome = call.outcome?.forCaller ?? call.outcome ?? failed(failure);
  call.result = renderOutcome(outcome, call, listWarnings(call), { reference: call.reference, suffix, retry });
  if (!isReplayed(call)) services.observer.callFailed(event, failure, call, retry);
  return retry;
};

const toolNameOf = ({ budgetKey }: Call): string | null => (budgetKey === UNKNOWN_TOOL ? null : budgetKey);

// Of these the session was not asked, whatever it said of other calls of the tool.
const WITHOUT_BUDGET: ReadonlySet<string> = new Set(['circuit_open', 'outcome_unknown', 'invalid_call']);

const findBudget = (call: Call, code: string): Budget | undefined => {
  const { admission, budgets, request } = call.batch;
  if (call.kind === 'refused' || WITHOUT_BUDGET.has(code) || request.retries === 'untold') return undefined;
  const permit = admission?.permits.get(call.budgetKey);
  const admitted = permit === undefined || permit.decision === 'unavailable' ? null : permit.budget;
  return budgets?.get(call.budgetKey) ?? admitted ?? undefined;
};

const NO_WARNINGS: readonly never[] = [];

const listWarnings = (call: Call): readonly Warning[] => {
  const { batch, outcome } = call;
  const own = outcome?.kind === 'success' ? outcome.warnings : NO_WARNINGS;
  if (!batch.hasDuplicates && !batch.hasVerdicts && batch.warnings.length === 0) return own;
  return [...own, ...warnOfIdentical(call), ...listCallWarnings(call)];
};

/** What is said of a call however it ends, late as well. */
const listCallWarnings = ({ batch, outcome, sharesId }: Call): readonly Warning[] => {
  // Of a call that did not run there is nothing to keep, so nothing is said of keys: a repeat is harmless.
  const isUntouched =
    batch.record?.state === 'away' && outcome?.kind === 'failure' && outcome.failure.executed === 'no';
  const warnings = isUntouched ? NO_WARNINGS : batch.warnings;
  return sharesId ? [DUPLICATE_ID_WARNING, ...warnings] : warnings;
};

const IDENTICAL_FROM = 3;

/** Said from the third time that a call gives the very same answer: a model may not have seen that it asked before. */
const warnOfIdentical = ({ outcome, verdict, tool }: Call): readonly Warning[] => {
  if (outcome?.kind !== 'success' || tool === null || tool.polling) return NO_WARNINGS;
  if (verdict?.kind !== 'run' || verdict.repeats === null) return NO_WARNINGS;
  const times = verdict.repeats.same + 1;
  if (times < IDENTICAL_FROM || verdict.repeats.answer !== toTextHash(outcome.valueJson)) return NO_WARNINGS;
  return [{ code: 'identical_call', message: identicalCallText(tool.name, times) }];
};

const observeBatch = ({ request, services, calls, startedAt }: Batch): void => {
  let failures = 0;
  let slowestCallMs = 0;
  for (const { outcome, durationMs } of calls) {
    if (outcome?.kind === 'failure') failures += 1;
    slowestCallMs = Math.max(slowestCallMs, durationMs);
  }
  services.observer.batchAnswered({
    requestId: request.requestId,
    idBy: request.batchId === request.requestId ? 'service' : 'caller',
    traceId: request.traceId,
    tenant: request.tenant,
    key: request.key,
    session: request.sessionKey,
    calls: calls.length,
    failed: failures,
    durationMs: services.now() - startedAt,
    slowestCallMs,
    isResumed: request.resumed !== undefined,
  });
};

/** The net under the whole batch: a bug of ours must not cost the caller its answers. Results that were sent stand. */
export const renderFailedBatch = ({ request, services, calls }: Batch, error: unknown): readonly RenderedResult[] =>
  request.calls.map((_entry, index) => {
    const call = calls[index];
    if (call?.isAnswered) return call.result;
    services.observer.contractViolated(error, request.requestId);
    const outcome = failed(toFailure('internal_error', INTERNAL_ERROR_TEXT, null, { thrown: error }));
    call?.end(outcome);
    if (call !== undefined) services.audit?.called(call);
    const unread = { index, id: null, name: null, durationMs: 0 };
    return renderOutcome(outcome, unread, NO_WARNINGS, { ...NO_NOTES, reference: request.requestId });
  });

/** The results of a batch that is answered. A handler that goes on must not keep them in memory. */
export const takeResults = ({ calls }: Batch): readonly RenderedResult[] => {
  const results: RenderedResult[] = [];
  for (const call of calls) {
    results.push(call.result);
    call.result = NO_RESULT;
  }
  return results;
};

/**
 * 10 writes down what handlers come to after their calls were answered: into the session's journal, and over the stored
 * result of a batch that may be asked for again. Never touches a budget, and never rejects.
 */
export const watchLate = (batch: Batch): undefined => {
  // The worker that runs it next writes down its end.
  if (batch.isGivenBack) return undefined;
  for (const call of batch.calls) {
    // The journal has the line of a resumed call, with the batch that accepted it: what came of it is late.
    if (batch.request.resumed !== undefined && call.outcome !== null) {
      batch.services.audit?.called(call);
      void writeLate(call, call.outcome);
    }
    void call.late?.then((late) => (late === null ? undefined : writeLate(call, late)));
  }
};

/** Writes an end into the journal; and into the records, where the call was answered without it. */
const writeLate = async (call: Call, late: CallOutcome): Promise<void> => {
  const { index, batch, outcome } = call;
  const { admission, services, request } = batch;
  services.open.begin();
  try {
    const end = late === outcome ? outcome : redactOutcome(late, call);
    if (end !== outcome) {
      endWrite(call, end);
      services.audit?.endedLate(call, end);
    }
    const requestId = services.redactor.cut(request.requestId, MAX_REQUEST_ID, 'journal');
    const isJournalled = admission !== null && admission.scope === 'session' && services.journal > 0;
    await Promise.all([
      isJournalled ? admission.addLate(toLateLine({ requestId, index }, toLateResult(end, batch))) : undefined,
      end !== outcome && saysMore(end, outcome) ? amendRecords(call, end) : undefined,
    ]);
  } catch (error) {
    services.observer.contractViolated(error, request.requestId);
  } finally {
    services.open.end();
  }
};

/**
 * Whether a late outcome tells a repeat more than the stored one: any does where that was unknown, else only a success. A
 * safe handler that ends because its time is over only says so in other words.
 */
const saysMore = (late: CallOutcome, stored: CallOutcome | null): boolean =>
  late.kind === 'success' || (stored?.kind === 'failure' && stored.failure.outcome === 'unknown');

/** Stores the result as a repeat of the batch will get it: in the record of the batch, and in that of the call. */
const amendRecords = async (call: Call, end: CallOutcome): Promise<void> => {
  const { record, batch, index, reference } = call;
  const own = end.kind === 'success' ? end.warnings : NO_WARNINGS;
  const durationMs = batch.services.now() - batch.startedAt;
  const { id, name, state, effectId } = call;
  const warnings = [...own, ...listCallWarnings(call)];
  const { json } = renderOutcome(end, { index, id, name, state, effectId, durationMs }, warnings, {
    ...NO_NOTES,
    reference,
  });
  await Promise.all([record?.amend(index, json), batch.record?.amend(index, json)]);
};

const MAX_LATE_MESSAGE = 500;

const toLateResult = (end: CallOutcome, { services }: Batch): LateResult => {
  const { outcome, executed, message, code } =
    end.kind === 'success' ? { ...end, outcome: 'success' as const, code: null } : end.failure;
  return {
    time: new Date(services.time()).toISOString(),
    outcome,
    executed,
    code,
    message: services.redactor.cut(message, MAX_LATE_MESSAGE, 'journal'),
  };
};
