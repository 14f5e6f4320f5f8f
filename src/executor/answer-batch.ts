import { FAILURE_POLICY } from '../contract/failure.ts';
import type { RetryState, Warning } from '../contract/tool-result.ts';
import type { Answer, AnsweredCall, AnswerTerms, RanBatch } from './answered-batch.ts';
import { type CallEnd, failed, type RanCall } from './call-end.ts';
import { DUPLICATE_ID_WARNING } from './duplicate-calls.ts';
import { toFailure } from './failure.ts';
import { INTERNAL_ERROR_TEXT, identicalCallText } from './failure-text.ts';
import { bucketOf } from './find-obstacle.ts';
import { toArgumentsText } from './journal/arguments-preview.ts';
import { redactEnd, toSentText } from './redaction/redact-end.ts';
import { type RenderedParts, renderFailure, renderSuccess, toRetryState, toSuffix } from './render-result.ts';
import { type ResolvedCall, toolOf } from './resolve-call.ts';
import { type Budget, UNKNOWN_TOOL } from './session-store.ts';
import { settleBatch } from './settle-batch.ts';
import { isSameAnswer } from './settled-call.ts';
import { toInvoked } from './to-invoked.ts';

/** 8 settles and 9 observes: turns the ends of all calls into results, in the order of the calls. Observing happens once a call. */
export const createAnswerBatch =
  (terms: AnswerTerms) =>
  async (done: RanBatch): Promise<readonly Answer[]> => {
    const { copies } = done.duplicates;
    const answered = done.calls.map((call): AnsweredCall => {
      const own = done.ran.get(call.index);
      const original = own === undefined ? copies.get(call.index) : undefined;
      const whole = own ?? done.ran.get(original ?? call.index) ?? lostCall(done, terms);
      const ran = toShown(done.size.fit(call.index, toolOf(call), whole), call, done, terms);
      const origin = original === undefined ? 'own' : 'copy';
      return { call, ran, origin, event: toInvoked(call, ran, origin, done.batch) };
    });
    const settling = settleBatch(done, answered, terms);
    const budgets = settling === null ? NO_BUDGETS : await settling;
    const answers = answered.map((one) => answerCall(one, done, budgets, terms));
    observeBatch(done, answered, terms);
    return answers;
  };

// Whoever hears of a call from here on, the log, the journal and subscribers as well, hears of its redacted end.
const toShown = (
  ran: RanCall,
  call: ResolvedCall,
  { given }: RanBatch,
  { redactor, maxResultBytes }: AnswerTerms,
): RanCall => {
  if (ran.kept !== undefined)
    return { ...ran, kept: redactor.result(ran.kept, 'result', () => toSentText(call, given)) };
  const end = redactEnd(ran.end, call, { redactor, maxResultBytes });
  if (end === ran.end) return ran;
  const sent = toSentText(call, given);
  if (!redactor.holds(sent)) return { ...ran, end };
  return { ...ran, end, told: redactEnd(ran.end, call, { redactor, maxResultBytes }, () => sent) };
};

// Never seen; a hole in the schedule must not become a hole in the answer.
const lostCall = ({ batch }: RanBatch, terms: AnswerTerms): RanCall => {
  terms.observer.contractViolated(new Error('A call has no end.'), batch.requestId);
  return { end: failed(toFailure('internal_error', INTERNAL_ERROR_TEXT, null)), durationMs: 0, late: null };
};

const NO_BUDGETS: ReadonlyMap<string, Budget> = new Map();

const budgetOf = (name: string, done: RanBatch, settled: ReadonlyMap<string, Budget>): Budget | undefined => {
  const permit = done.admission?.permits.get(name);
  const admitted = permit === undefined || permit.decision === 'unavailable' ? undefined : permit.budget;
  return settled.get(name) ?? admitted ?? undefined;
};

const answerCall = (
  one: AnsweredCall,
  done: RanBatch,
  settled: ReadonlyMap<string, Budget>,
  terms: AnswerTerms,
): Answer => {
  const { event } = one;
  terms.observer.toolInvoked(event);
  const { result, reference, retry } = renderCall(one, done, settled, terms);
  done.batch.trace?.callEnded(event, { argumentsText: () => toTracedArguments(one.call, done), retry });
  return { ...one, result, reference, standing: toStanding(one.call, done) };
};

const toTracedArguments = (call: ResolvedCall, { given }: RanBatch): string | null =>
  call.kind === 'ready' ? toArgumentsText(call, given) : null;

const renderCall = (
  one: AnsweredCall,
  done: RanBatch,
  settled: ReadonlyMap<string, Budget>,
  terms: AnswerTerms,
): Pick<Answer, 'result' | 'reference'> & { readonly retry: RetryState | null } => {
  const { durationMs, kept } = one.ran;
  const end = one.ran.told ?? one.ran.end;
  if (kept !== undefined) return { result: kept, reference: '', retry: null };
  const parts = toParts(one, done, durationMs);
  if (end.kind === 'success') return { result: renderSuccess(end, parts), reference: '', retry: null };
  const { failure } = end;
  const bucket = bucketOf(one.call);
  const isAsked = one.call.kind !== 'refused' && !NOT_ASKED.has(failure.code);
  const budget = isAsked ? budgetOf(bucket, done, settled) : undefined;
  const logged = one.ran.end.kind === 'failure' ? one.ran.end.failure : failure;
  const reference = terms.failureLog.write({
    ...one.event,
    failure: logged,
    fault: FAILURE_POLICY[failure.code].fault,
  });
  const suffix = toSuffix(failure, bucket === UNKNOWN_TOOL ? null : bucket, budget);
  const retry = toRetryState(failure, budget, done.admission);
  return { result: renderFailure(end, { ...parts, reference, suffix, retry }), reference, retry };
};

// Of these the session was not asked, whatever it said of other calls of the tool.
const NOT_ASKED: ReadonlySet<string> = new Set(['circuit_open', 'outcome_unknown']);

const toParts = ({ call, ran, origin }: AnsweredCall, done: RanBatch, durationMs: number): RenderedParts => {
  const { end } = ran;
  const marks = end.kind === 'success' ? end.marks : NO_MARKS;
  return {
    call,
    durationMs,
    marks: origin === 'copy' ? [...marks, 'replayed'] : marks,
    warnings: toWarnings(call, end, done),
  };
};

/** The result of a call whose handler ended after the answer, as a repeat of its batch will get it. */
export const renderLate = ({ call, origin, reference, standing }: Answer, end: CallEnd, durationMs: number): string => {
  const own = end.kind === 'success' ? end.marks : NO_MARKS;
  const marks = origin === 'copy' ? [...own, 'replayed' as const] : own;
  const warnings = [...(end.kind === 'success' ? end.warnings : NO_MARKS), ...standing];
  const parts: RenderedParts = { call, durationMs, marks, warnings };
  return end.kind === 'success'
    ? renderSuccess(end, parts)
    : renderFailure(end, { ...parts, reference, suffix: '', retry: null });
};

const NO_MARKS: readonly never[] = [];

const toWarnings = (call: ResolvedCall, end: CallEnd, done: RanBatch): readonly Warning[] => {
  const { duplicates, notices, verdicts } = done;
  const own = end.kind === 'success' ? end.warnings : [];
  if (notices.length === 0 && duplicates.sharedIds.size === 0 && verdicts.size === 0) return own;
  return [...own, ...toIdentical(call, end, done), ...toStanding(call, done)];
};

/** What is said of a call however it ends. */
const toStanding = ({ index }: ResolvedCall, { duplicates, notices }: RanBatch): readonly Warning[] =>
  duplicates.sharedIds.has(index) ? [DUPLICATE_ID_WARNING, ...notices] : notices;

const IDENTICAL_FROM = 3;

/** Said from the third time that a call gives the very same answer: a model may not have seen that it asked before. */
const toIdentical = (call: ResolvedCall, end: CallEnd, { verdicts }: RanBatch): readonly Warning[] => {
  const verdict = verdicts.get(call.index);
  if (end.kind !== 'success' || call.kind !== 'ready' || call.tool.polling) return NO_MARKS;
  if (verdict?.kind !== 'run' || verdict.streak === null) return NO_MARKS;
  const times = verdict.streak.same + 1;
  if (times < IDENTICAL_FROM || !isSameAnswer(verdict.streak, end)) return NO_MARKS;
  return [{ code: 'identical_call', message: identicalCallText(call.tool.name, times) }];
};

const observeBatch = (done: RanBatch, answered: readonly AnsweredCall[], terms: AnswerTerms): void => {
  const slowestCallMs = answered.reduce((slowest, { ran }) => Math.max(slowest, ran.durationMs), 0);
  terms.observer.batchAnswered({
    requestId: done.batch.requestId,
    traceId: done.batch.traceId,
    tenant: done.batch.tenant,
    key: done.batch.key,
    session: done.batch.sessionKey,
    calls: answered.length,
    failed: answered.filter(({ ran }) => ran.end.kind === 'failure').length,
    durationMs: terms.now() - done.startedAt,
    slowestCallMs,
  });
};
