import { FAILURE_POLICY } from '../contract/failure.ts';
import type { Warning } from '../contract/tool-result.ts';
import { type Batch, type Call, isReady, type ReadyCall } from './call.ts';
import { readArguments, toArgumentsJson } from './call-arguments.ts';
import type { ToolInvoked } from './call-observer.ts';
import { type CallOutcome, failed } from './call-outcome.ts';
import { toFailure } from './failure.ts';
import { NO_SUFFIX, toSuffix } from './failure-message.ts';
import { INTERNAL_ERROR_TEXT, identicalCallText } from './failure-text.ts';
import { hideSensitive, toHiding } from './journal/arguments-preview.ts';
import { DUPLICATE_ID_WARNING } from './read-calls.ts';
import { redactOutcome, toSentText } from './redact-outcome.ts';
import { type RenderedParts, renderFailure, renderSuccess, toRetryState } from './render-result.ts';
import { bucketOf } from './round-call.ts';
import { type Budget, UNKNOWN_TOOL } from './session-store.ts';
import { isSameAnswer } from './settle.ts';

/**
 * 6 gives copies the outcome of their original, cuts each outcome to what the answer has room for, and redacts it: log,
 * journal and subscribers get the redacted one, too. Makes the event that every call emits.
 */
export const prepareAnswers = (batch: Batch): undefined => {
  if (batch.hasDuplicates) for (const call of batch.calls) copyOriginal(call);
  for (const call of batch.calls) {
    if (call.outcome === null) lose(call);
    batch.size.fit(call);
    redact(call);
    call.event = toEvent(call);
  }
};

const copyOriginal = (call: Call): void => {
  const { original } = call;
  // A copy whose result an earlier try kept has an outcome of its own.
  if (original === null || call.outcome !== null) return;
  call.isCopy = true;
  call.outcome = original.outcome;
  call.storedResult = original.storedResult;
  call.withheld = original.withheld;
  call.durationMs = original.durationMs;
  call.late = original.late;
};

// Never seen; a hole in the schedule must not become a hole in the answer.
const lose = (call: Call): void => {
  const { services, request } = call.batch;
  services.observer.contractViolated(new Error('A call has no outcome.'), request.requestId);
  call.fail(toFailure('internal_error', INTERNAL_ERROR_TEXT, null));
};

const redact = (call: Call): void => {
  const { outcome, storedResult, batch } = call;
  const { redactor } = batch.services;
  if (outcome === null) return;
  if (storedResult !== null) {
    call.storedResult = redactor.result(storedResult, 'result', () => toSentText(call));
    return;
  }
  const redacted = redactOutcome(outcome, call);
  if (redacted === outcome) return;
  call.outcome = redacted;
  const sent = toSentText(call);
  if (redactor.holds(sent)) call.callerOutcome = redactOutcome(outcome, call, () => sent);
};

/** The event that every call emits, on every exit: failures like successes, and replays too. */
const toEvent = (call: Call): ToolInvoked => {
  const { batch, outcome } = call;
  const failure = outcome?.kind === 'failure' ? outcome.failure : null;
  const success = outcome?.kind === 'success' ? outcome : null;
  return {
    requestId: batch.request.requestId,
    traceId: batch.request.traceId,
    session: batch.request.sessionKey,
    index: call.index,
    callId: call.id,
    tool: bucketOf(call),
    success: failure === null,
    outcome: failure?.outcome ?? 'success',
    executed: success?.executed ?? failure?.executed ?? 'maybe',
    code: failure?.code ?? null,
    fault: failure === null ? null : FAILURE_POLICY[failure.code].fault,
    fatal: failure?.fatal ?? false,
    replayed: call.isCopy || call.storedResult !== null,
    durationMs: call.durationMs,
    message: success?.message ?? failure?.message ?? '',
    valueJson: outcome?.valueJson ?? 'null',
  };
};

/** 8 turns outcomes into results, in the order of the calls, and tells observer, log and trace of each call, once. */
export const renderAnswers = (batch: Batch): undefined => {
  const { observer } = batch.services;
  for (const call of batch.calls) {
    if (call.event === null) continue;
    observer.toolInvoked(call.event);
    call.result = call.storedResult ?? renderCall(call, call.event);
    batch.request.trace?.callEnded(call.event, {
      argumentsText: () => (isReady(call) ? toArgumentsText(call) : null),
      retry: call.retry,
    });
  }
  observeBatch(batch);
};

/** A call's arguments without what the schema marks sensitive. */
const toArgumentsText = (call: ReadyCall): string =>
  hideSensitive(toArgumentsJson(call), {
    hiding: toHiding(call.tool.inputSchema),
    readable: readArguments(call).ok,
  });

const renderCall = (call: Call, event: ToolInvoked): string => {
  const outcome = call.callerOutcome ?? call.outcome;
  if (outcome === null) return 'null';
  const parts = toParts(call, call.outcome ?? outcome, call.durationMs, toWarnings(call));
  if (outcome.kind === 'success') return renderSuccess(outcome, parts);
  const { failure } = outcome;
  const logged = call.outcome?.kind === 'failure' ? call.outcome.failure : failure;
  call.reference = call.batch.services.failureLog.write(event, logged);
  const budget = budgetOf(call, failure.code);
  const bucket = bucketOf(call);
  const suffix = toSuffix(failure, bucket === UNKNOWN_TOOL ? null : bucket, budget);
  call.retry = toRetryState(failure, budget, call.batch.admission);
  return renderFailure(outcome, parts, { reference: call.reference, suffix, retry: call.retry });
};

// Of these the session was not asked, whatever it said of other calls of the tool.
const NOT_ASKED: ReadonlySet<string> = new Set(['circuit_open', 'outcome_unknown']);

const budgetOf = (call: Call, code: string): Budget | undefined => {
  const { admission, budgets, request } = call.batch;
  if (call.kind === 'refused' || NOT_ASKED.has(code) || request.retries === 'untold') return undefined;
  const permit = admission?.permits.get(bucketOf(call));
  const admitted = permit === undefined || permit.decision === 'unavailable' ? null : permit.budget;
  return budgets?.get(bucketOf(call)) ?? admitted ?? undefined;
};

const toParts = (call: Call, outcome: CallOutcome, durationMs: number, warnings: readonly Warning[]): RenderedParts => {
  const marks = outcome.kind === 'success' ? outcome.marks : NONE;
  return { call, durationMs, marks: call.isCopy ? [...marks, 'replayed'] : marks, warnings };
};

const NONE: readonly never[] = [];

const toWarnings = (call: Call): readonly Warning[] => {
  const { batch, outcome } = call;
  const own = outcome?.kind === 'success' ? outcome.warnings : NONE;
  if (!batch.hasDuplicates && !batch.hasVerdicts && batch.warnings.length === 0) return own;
  return [...own, ...toIdentical(call), ...toStandingWarnings(call)];
};

/** What is said of a call however it ends, late as well. */
const toStandingWarnings = ({ batch, sharesId }: Call): readonly Warning[] =>
  sharesId ? [DUPLICATE_ID_WARNING, ...batch.warnings] : batch.warnings;

const IDENTICAL_FROM = 3;

/** Said from the third time that a call gives the very same answer: a model may not have seen that it asked before. */
const toIdentical = (call: Call): readonly Warning[] => {
  const { outcome, verdict } = call;
  if (outcome?.kind !== 'success' || !isReady(call) || call.tool.polling) return NONE;
  if (verdict?.kind !== 'run' || verdict.streak === null) return NONE;
  const times = verdict.streak.same + 1;
  if (times < IDENTICAL_FROM || !isSameAnswer(verdict.streak, outcome)) return NONE;
  return [{ code: 'identical_call', message: identicalCallText(call.tool.name, times) }];
};

/** The result of a call whose handler ended after the answer, as a repeat of its batch will get it. */
export const renderLate = (call: Call, outcome: CallOutcome, durationMs: number): string => {
  const own = outcome.kind === 'success' ? outcome.warnings : NONE;
  const parts = toParts(call, outcome, durationMs, [...own, ...toStandingWarnings(call)]);
  return outcome.kind === 'success'
    ? renderSuccess(outcome, parts)
    : renderFailure(outcome, parts, { reference: call.reference, suffix: NO_SUFFIX, retry: null });
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
    traceId: request.traceId,
    tenant: request.tenant,
    key: request.key,
    session: request.sessionKey,
    calls: calls.length,
    failed: failures,
    durationMs: services.now() - startedAt,
    slowestCallMs,
  });
};

/** The net under the whole batch: a bug of ours must not cost the caller its answers. */
export const renderLost = (batch: Batch, error: unknown): readonly string[] => {
  const { request, services } = batch;
  return request.calls.map((_entry, index) => {
    services.observer.contractViolated(error, request.requestId);
    const outcome = failed(toFailure('internal_error', INTERNAL_ERROR_TEXT, null, { thrown: error }));
    const call = { index, id: null, name: null };
    const parts = { call, durationMs: 0, marks: NONE, warnings: NONE };
    return renderFailure(outcome, parts, { reference: request.requestId, suffix: NO_SUFFIX, retry: null });
  });
};
