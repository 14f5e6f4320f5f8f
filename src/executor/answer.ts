import { FAILURE_POLICY } from '../contract/failure.ts';
import type { Issue, RenderedResult, Warning } from '../contract/tool-result.ts';
import { parseJson } from '../json/parse-json.ts';
import { toTextHash } from '../json/value-hash.ts';
import { MAX_DESCRIBED, onOneLine } from '../tools/describe-value.ts';
import { type Batch, type Call, isReady, NO_RESULT, type ReadyCall, readArguments, toArgumentsJson } from './call.ts';
import type { ToolInvoked } from './call-observer.ts';
import { type CallOutcome, type Failure, failed, toFailure } from './call-outcome.ts';
import {
  echoName,
  INTERNAL_ERROR_TEXT,
  identicalCallText,
  invalidArgumentsText,
  MAX_HINT_LENGTH,
  MAX_MESSAGE_LENGTH,
  MAX_NAME_ECHO,
  NO_SUFFIX,
  toSuffix,
} from './failure-text.ts';
import { hideSensitive, toHiding } from './journal-line.ts';
import { MAX_ISSUE_LENGTH, mapChanged, toPreviewLength } from './outcome.ts';
import { renderAccepted } from './pending-result.ts';
import { DUPLICATE_ID_WARNING } from './read-calls.ts';
import type { Redactor, SentText } from './redactor.ts';
import { renderFailure, renderSuccess, toEndedResult, toRetryState } from './render-result.ts';
import { bucketOf } from './round-call.ts';
import { type Budget, UNKNOWN_TOOL } from './session-store.ts';

/**
 * 6 gives copies the outcome of their original, cuts each outcome to what the answer has room for, and redacts it: log,
 * journal and subscribers get the redacted one, too. Makes the event that every call emits.
 */
export const prepareAnswers = (batch: Batch): undefined => {
  if (batch.hasDuplicates) for (const call of batch.calls) copyOriginal(call);
  for (const call of batch.calls) {
    if (call.isAnswered) batch.size.count(call);
    // A pending call has its event with its own run.
    else if (call.accepted === null) finishCall(call, batch);
    else redact(call);
  }
};

const finishCall = (call: Call, { size }: Batch): void => {
  if (call.outcome === null) reportLost(call);
  size.fit(call);
  redact(call);
  call.event = toEvent(call);
};

/**
 * Makes the result of a call that has ended while others run, and tells who watches the batch: where nothing that is still to
 * come can change it. That is a success; of a batch without a record, whose results say whether they were kept; that no other
 * call copies, for a copy is redacted for itself; and whose value has room whatever the calls before it come to. Failures
 * wait for the settlement of their round.
 */
export const answerEarly = (call: Call): void => {
  const { batch } = call;
  if (isSettled(call)) tellResult(call);
  // What had to wait for the sizes of those before it.
  if (batch.size.heldBytes === 0) return;
  for (const other of batch.calls) if (other.index > call.index && isSettled(other)) tellResult(other);
};

const isSettled = (call: Call): boolean => {
  const { batch, outcome, isAnswered } = call;
  if (isAnswered || outcome?.kind !== 'success' || call.original !== null) return false;
  if (batch.record !== null || call.record !== null) return false;
  if (batch.hasDuplicates && batch.calls.some(({ original }) => original === call)) return false;
  return batch.size.hasRoomFor(call, batch.calls, batch.services.maxResultBytes);
};

const tellResult = (call: Call): void => {
  const { services, request } = call.batch;
  redact(call);
  call.event = toEvent(call);
  renderAnswer(call, call.event);
  call.isAnswered = true;
  services.turns.spend(call.result.json.length * TEXTS_OF_A_RESULT);
  request.listener?.result?.(call.index, call.result);
};

// As value, as result, and as what is sent.
const TEXTS_OF_A_RESULT = 3;

const copyOriginal = (call: Call): void => {
  const { original } = call;
  // A copy whose result an earlier try kept has an outcome of its own.
  if (original === null || call.outcome !== null || call.accepted !== null) return;
  call.isCopy = true;
  call.outcome = original.outcome;
  call.storedResult = original.storedResult;
  call.isRecorded = original.isRecorded;
  call.accepted = original.accepted;
  call.acceptedState = original.acceptedState;
  call.isJoined = original.accepted !== null;
  call.durationMs = original.durationMs;
  call.late = original.late;
};

// Never seen; a hole in the schedule must not become a hole in the answer.
const reportLost = (call: Call): void => {
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

/** What a caller sent of a call, as text. */
const toSentText = (call: Call): string =>
  `${call.id ?? ''}\n${call.name ?? ''}\n${isReady(call) ? toArgumentsJson(call) : ''}`;

type Cut = (text: string, limit: number) => string;

/**
 * The outcome of a call as the log, the journal and subscribers get it: without secrets, and no text longer than the model
 * reads. With `sent` as the caller gets it: what it sent itself stays, for from its absence it could learn that it is a secret.
 */
export const redactOutcome = (outcome: CallOutcome, call: Call, sent?: SentText): CallOutcome => {
  if (outcome === call.batch.cleanOutcome) return outcome;
  const { redactor, maxResultBytes } = call.batch.services;
  const cut: Cut = (text, limit) => redactor.cut(text, limit, 'result', sent);
  const valueJson = redactValue(outcome, toPreviewLength(maxResultBytes), redactor, sent);
  if (outcome.kind === 'failure') {
    const failure = redactFailure(outcome.failure, call, cut, (text) => redactor.text(text, 'result', sent));
    if (failure !== outcome.failure || valueJson !== outcome.valueJson) return { ...outcome, valueJson, failure };
    call.batch.cleanOutcome = outcome;
    return outcome;
  }
  const { message, warnings } = outcome;
  if (message === '' && warnings.length === 0)
    return valueJson === outcome.valueJson ? outcome : { ...outcome, valueJson };
  return {
    ...outcome,
    valueJson,
    message: redactor.said(message, MAX_MESSAGE_LENGTH, 'result', sent),
    warnings: warnings.map((warning) => ({ ...warning, message: cut(warning.message, MAX_MESSAGE_LENGTH) })),
  };
};

const redactValue = (outcome: CallOutcome, limit: number, redactor: Redactor, sent?: SentText): string => {
  const { valueJson } = outcome;
  if (valueJson === 'null') return valueJson;
  const isBeginning = outcome.kind === 'success' && outcome.marks.includes('truncated');
  const preview = isBeginning ? parseJson(valueJson) : null;
  return preview?.ok && typeof preview.value === 'string'
    ? JSON.stringify(redactor.said(preview.value, limit, 'result', sent))
    : redactor.value(valueJson, 'result', sent);
};

const redactFailure = (failure: Failure, call: Call, cut: Cut, redactText: (text: string) => string): Failure => {
  const issues = mapChanged(failure.issues, (issue) => redactIssue(issue, cut));
  const message =
    failure.code === 'invalid_arguments' && isReady(call) && issues.length > 0
      ? invalidArgumentsText(call.tool, issues, failure.issueCount)
      : cutBeforeHint(withShownName(failure.message, call.name, cut), failure.hint, cut);
  const type = failure.type === failure.code ? failure.type : redactText(failure.type);
  const hint = failure.hint === null ? null : cut(failure.hint, MAX_HINT_LENGTH);
  const isClean =
    issues === failure.issues && message === failure.message && type === failure.type && hint === failure.hint;
  return isClean ? failure : { ...failure, message, type, hint, issues };
};

/** Of a message that is too long and ends with its hint, what stands before the hint is cut. */
const cutBeforeHint = (message: string, hint: string | null, cut: Cut): string => {
  if (hint === null || message.length <= MAX_MESSAGE_LENGTH || !message.endsWith(hint))
    return cut(message, MAX_MESSAGE_LENGTH);
  const shownHint = cut(hint, MAX_HINT_LENGTH);
  return `${cut(message.slice(0, -hint.length).trimEnd(), MAX_MESSAGE_LENGTH - shownHint.length - 1)} ${shownHint}`;
};

/** A message echoes a long name cut, and so perhaps half a secret: here the name is whole. */
const withShownName = (message: string, name: string | null, cut: Cut): string =>
  name === null || name.length <= MAX_NAME_ECHO
    ? message
    : message.replace(echoName(name), () => onOneLine(cut(name, MAX_NAME_ECHO)));

const redactIssue = (issue: Issue, cut: Cut): Issue => {
  const received = cut(issue.received, MAX_DESCRIBED);
  const path = cut(issue.path, MAX_ISSUE_LENGTH);
  const expected = cut(issue.expected, MAX_ISSUE_LENGTH);
  const message = cutIssueMessage(issue, received, cut);
  const isClean =
    received === issue.received && path === issue.path && expected === issue.expected && message === issue.message;
  return isClean ? issue : { path, expected, received, message };
};

/** `expected a number, got the string "…"`: what was received is as long as where it stands alone. */
const cutIssueMessage = ({ message, received }: Issue, shown: string, cut: Cut): string =>
  received === shown || !message.endsWith(received)
    ? cut(message, MAX_ISSUE_LENGTH)
    : `${cut(message.slice(0, -received.length), MAX_ISSUE_LENGTH - MAX_DESCRIBED)}${shown}`;

/** The event that every call emits, on every exit: failures like successes, and replays too. */
const toEvent = (call: Call): ToolInvoked => {
  const { batch, outcome } = call;
  const failure = outcome?.kind === 'failure' ? outcome.failure : null;
  const success = outcome?.kind === 'success' ? outcome : null;
  return {
    requestId: batch.request.requestId,
    traceId: batch.request.traceId,
    tenant: batch.request.tenant,
    key: batch.request.key,
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
  for (const call of batch.calls) {
    if (call.acceptedState !== null) call.result = renderAccepted(call, call.acceptedState);
    else if (call.event !== null && !call.isAnswered) renderAnswer(call, call.event);
  }
  observeBatch(batch);
};

const renderAnswer = (call: Call, event: ToolInvoked): void => {
  const { services, request } = call.batch;
  services.observer.toolInvoked(event);
  call.result = call.storedResult === null ? renderCall(call, event) : toEndedResult(call.storedResult);
  request.trace?.callEnded(event, {
    argumentsText: () => (isReady(call) ? toShownArguments(call) : null),
    retry: call.retry,
  });
};

/** A call's arguments without what the schema marks sensitive. */
const toShownArguments = (call: ReadyCall): string =>
  hideSensitive(toArgumentsJson(call), {
    hiding: toHiding(call.tool.inputSchema),
    readable: readArguments(call).ok,
  });

const renderCall = (call: Call, event: ToolInvoked): RenderedResult => {
  const outcome = call.callerOutcome ?? call.outcome;
  if (outcome === null) return NO_RESULT;
  const { durationMs, batch } = call;
  const warnings = toWarnings(call);
  if (outcome.kind === 'success') return renderSuccess(outcome, { call, durationMs, warnings });
  const { failure } = outcome;
  const logged = call.outcome?.kind === 'failure' ? call.outcome.failure : failure;
  call.reference = batch.services.failureLog.write(event, logged);
  const budget = budgetOf(call, failure.code);
  const bucket = bucketOf(call);
  const suffix = toSuffix(failure, bucket === UNKNOWN_TOOL ? null : bucket, budget);
  call.retry = toRetryState(failure, budget, batch.admission);
  const notes = { reference: call.reference, suffix, retry: call.retry };
  return renderFailure(outcome, { call, durationMs, warnings }, notes);
};

// Of these the session was not asked, whatever it said of other calls of the tool.
const WITHOUT_BUDGET: ReadonlySet<string> = new Set(['circuit_open', 'outcome_unknown', 'invalid_call']);

const budgetOf = (call: Call, code: string): Budget | undefined => {
  const { admission, budgets, request } = call.batch;
  if (call.kind === 'refused' || WITHOUT_BUDGET.has(code) || request.retries === 'untold') return undefined;
  const permit = admission?.permits.get(bucketOf(call));
  const admitted = permit === undefined || permit.decision === 'unavailable' ? null : permit.budget;
  return budgets?.get(bucketOf(call)) ?? admitted ?? undefined;
};

const NO_WARNINGS: readonly never[] = [];

const toWarnings = (call: Call): readonly Warning[] => {
  const { batch, outcome } = call;
  const own = outcome?.kind === 'success' ? outcome.warnings : NO_WARNINGS;
  if (!batch.hasDuplicates && !batch.hasVerdicts && batch.warnings.length === 0) return own;
  return [...own, ...toIdentical(call), ...toCallWarnings(call)];
};

// Of a call that did not run there is nothing to keep, so nothing is said of keys: a repeat is harmless.
const isUntouched = ({ outcome, batch }: Call): boolean =>
  batch.record?.state === 'away' && outcome?.kind === 'failure' && outcome.failure.executed === 'no';

/** What is said of a call however it ends, late as well. */
export const toCallWarnings = (call: Call): readonly Warning[] => {
  const warnings = isUntouched(call) ? NO_WARNINGS : call.batch.warnings;
  return call.sharesId ? [DUPLICATE_ID_WARNING, ...warnings] : warnings;
};

const IDENTICAL_FROM = 3;

/** Said from the third time that a call gives the very same answer: a model may not have seen that it asked before. */
const toIdentical = ({ outcome, verdict, tool }: Call): readonly Warning[] => {
  if (outcome?.kind !== 'success' || tool === null || tool.polling) return NO_WARNINGS;
  if (verdict?.kind !== 'run' || verdict.streak === null) return NO_WARNINGS;
  const times = verdict.streak.same + 1;
  if (times < IDENTICAL_FROM || verdict.streak.answer !== toTextHash(outcome.valueJson)) return NO_WARNINGS;
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
  });
};

/** The net under the whole batch: a bug of ours must not cost the caller its answers. Results that were told stand. */
export const renderLost = ({ request, services, calls }: Batch, error: unknown): readonly RenderedResult[] =>
  request.calls.map((_entry, index) => {
    const told = calls[index];
    if (told?.isAnswered) return told.result;
    services.observer.contractViolated(error, request.requestId);
    const outcome = failed(toFailure('internal_error', INTERNAL_ERROR_TEXT, null, { thrown: error }));
    const call = { index, id: null, name: null, isCopy: false };
    const notes = { reference: request.requestId, suffix: NO_SUFFIX, retry: null };
    return renderFailure(outcome, { call, durationMs: 0, warnings: NO_WARNINGS }, notes);
  });
