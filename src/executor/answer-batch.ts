import { FAILURE_POLICY } from '../contract/failure.ts';
import type { Warning } from '../contract/tool-result.ts';
import type { Batch } from './batch.ts';
import type { CallEnd, RanCall } from './call-end.ts';
import { failed } from './call-end.ts';
import type { CallObserver, FailureLog, ToolInvoked } from './call-observer.ts';
import { DUPLICATE_ID_WARNING, type Duplicates } from './duplicate-calls.ts';
import { bucketOf } from './execute-call.ts';
import { toFailure } from './failure.ts';
import { INTERNAL_ERROR_TEXT } from './failure-text.ts';
import type { OpenWork } from './open-work.ts';
import { type RenderedParts, renderFailure, renderSuccess, toRetryState, toSuffix } from './render-result.ts';
import type { ResolvedCall } from './resolve-call.ts';
import { toRoundOutcomes } from './round-outcomes.ts';
import { type Admission, type Budget, UNKNOWN_TOOL } from './session-store.ts';

export type AnswerTerms = {
  readonly now: () => number;
  readonly observer: CallObserver;
  readonly failureLog: FailureLog;
  /** Where a settlement that nobody waits for is noted, so that draining can. */
  readonly open: OpenWork;
};

export type RanBatch = {
  readonly batch: Batch;
  readonly startedAt: number;
  readonly calls: readonly ResolvedCall[];
  readonly duplicates: Duplicates;
  readonly admission: Admission | null;
  readonly ran: ReadonlyMap<number, RanCall>;
};

type Answered = { readonly call: ResolvedCall; readonly ran: RanCall; readonly replayed: boolean };

/** 8 settles and 9 observes: turns the ends of all calls into results, in the order of the calls. Observing happens once a call. */
export const createAnswerBatch =
  (terms: AnswerTerms) =>
  async (done: RanBatch): Promise<readonly string[]> => {
    const { copies } = done.duplicates;
    const answered = done.calls.map((call): Answered => {
      const original = copies.size === 0 ? undefined : copies.get(call.index);
      const ran = done.ran.get(original ?? call.index) ?? lostCall(terms);
      return { call, ran, replayed: original !== undefined };
    });
    const settling = settle(done, answered, terms);
    const budgets = settling === null ? NO_BUDGETS : await settling;
    const results = answered.map((one) => renderAnswer(one, done, budgets, terms));
    observeBatch(done, answered, terms);
    return results;
  };

// Never seen; a hole in the schedule must not become a hole in the answer.
const lostCall = (terms: AnswerTerms): RanCall => {
  terms.observer.contractViolated(new Error('A call has no end.'));
  return { end: failed(toFailure('internal_error', INTERNAL_ERROR_TEXT, null)), durationMs: 0, late: null };
};

const NO_BUDGETS: ReadonlyMap<string, Budget> = new Map();

/** Null where the answer need not wait: first attempts that all succeeded change no budget. */
const settle = (
  done: RanBatch,
  answered: readonly Answered[],
  terms: AnswerTerms,
): Promise<ReadonlyMap<string, Budget>> | null => {
  const { admission, batch } = done;
  if (admission === null) return null;
  const clean = answered.every(({ ran }) => ran.end.kind === 'success') && isFree(admission);
  // Of a named round the store must hear all the same: a later batch of it may fail, which makes it mixed.
  if (clean && batch.roundId === null) return null;
  const run = answered.filter(({ replayed }) => !replayed).map(({ call, ran }) => ({ call, end: ran.end }));
  const settling = admission.settle(toRoundOutcomes(run)).catch((error: unknown) => {
    terms.observer.contractViolated(error);
    return NO_BUDGETS;
  });
  if (!clean) return settling;
  terms.open.begin();
  void settling.then(terms.open.end);
  return null;
};

const isFree = ({ permits }: Admission): boolean => {
  for (const { decision } of permits.values()) if (decision !== 'free') return false;
  return true;
};

const budgetOf = (name: string, done: RanBatch, settled: ReadonlyMap<string, Budget>): Budget | undefined => {
  const permit = done.admission?.permits.get(name);
  const admitted = permit === undefined || permit.decision === 'unavailable' ? undefined : permit.budget;
  return settled.get(name) ?? admitted ?? undefined;
};

const renderAnswer = (
  { call, ran, replayed }: Answered,
  done: RanBatch,
  settled: ReadonlyMap<string, Budget>,
  terms: AnswerTerms,
): string => {
  const { end, durationMs } = ran;
  const marks = end.kind === 'success' ? end.marks : NO_MARKS;
  const parts: RenderedParts = {
    call,
    durationMs,
    marks: replayed ? [...marks, 'replayed'] : marks,
    warnings: toWarnings(call, end, done),
  };
  const event = toEvent(call, ran, replayed, done);
  terms.observer.toolInvoked(event);
  if (end.kind === 'success') return renderSuccess(end, parts);
  const { failure } = end;
  const bucket = bucketOf(call);
  const budget = call.kind === 'refused' ? undefined : budgetOf(bucket, done, settled);
  const reference = terms.failureLog.write({ ...event, failure, fault: FAILURE_POLICY[failure.code].fault });
  const suffix = toSuffix(failure, bucket === UNKNOWN_TOOL ? null : bucket, budget);
  return renderFailure(end, { ...parts, reference, suffix, retry: toRetryState(failure, budget, done.admission) });
};

const NO_MARKS: readonly never[] = [];

const toWarnings = ({ index }: ResolvedCall, end: CallEnd, { batch, duplicates }: RanBatch): readonly Warning[] => {
  const own = end.kind === 'success' ? end.warnings : [];
  if (batch.notices.length === 0 && duplicates.sharedIds.size === 0) return own;
  return [...own, ...(duplicates.sharedIds.has(index) ? [DUPLICATE_ID_WARNING] : []), ...batch.notices];
};

const toEvent = (call: ResolvedCall, ran: RanCall, replayed: boolean, { batch }: RanBatch): ToolInvoked => {
  const failure = ran.end.kind === 'failure' ? ran.end.failure : null;
  return {
    requestId: batch.requestId,
    session: batch.sessionKey,
    index: call.index,
    callId: call.id,
    tool: bucketOf(call),
    success: failure === null,
    outcome: failure?.outcome ?? 'success',
    executed: failure?.executed ?? 'yes',
    code: failure?.code ?? null,
    fault: failure === null ? null : FAILURE_POLICY[failure.code].fault,
    fatal: failure?.fatal ?? false,
    replayed,
    durationMs: ran.durationMs,
  };
};

const observeBatch = (done: RanBatch, answered: readonly Answered[], terms: AnswerTerms): void => {
  const slowestCallMs = answered.reduce((slowest, { ran }) => Math.max(slowest, ran.durationMs), 0);
  terms.observer.batchAnswered({
    requestId: done.batch.requestId,
    tenant: done.batch.tenant,
    session: done.batch.sessionKey,
    calls: answered.length,
    failed: answered.filter(({ ran }) => ran.end.kind === 'failure').length,
    durationMs: terms.now() - done.startedAt,
    slowestCallMs,
  });
};
