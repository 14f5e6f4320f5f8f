import type { LateResult } from '../contract/session.ts';
import { redactOutcome, toCallWarnings } from './answer.ts';
import type { Batch, Call } from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import { NO_SUFFIX } from './failure-text.ts';
import { MAX_REQUEST_ID, toLateLine } from './journal-entries.ts';
import { renderFailure, renderSuccess } from './render-result.ts';

const NO_WARNINGS: readonly never[] = [];

/**
 * 10 writes down what handlers come to after their calls were answered: into the session's journal, and over the kept
 * result of a batch that may be asked for again. Never touches a budget, and never rejects.
 */
export const watchLate = (batch: Batch): undefined => {
  const { calls } = batch;
  // The worker that runs it next writes down its end.
  if (batch.isGivenBack) return undefined;
  if (batch.request.resumed !== undefined) writeEnds(batch);
  for (const call of calls) {
    if (call.late === null) continue;
    void call.late.then((outcome) => (outcome === null ? undefined : writeLate(call, outcome)));
  }
};

/** The journal has the line of a resumed call, with the batch that accepted it: what came of it is late. */
const writeEnds = ({ calls, admission, services, request }: Batch): void => {
  const requestId = services.redactor.cut(request.requestId, MAX_REQUEST_ID, 'journal');
  if (admission === null || admission.scope !== 'session' || services.journal === 0) return;
  for (const { index, outcome, batch } of calls) {
    if (outcome === null) continue;
    services.open.begin();
    void admission
      .addLate(toLateLine({ requestId, index }, toLateResult(outcome, batch)))
      .catch((error: unknown) => services.observer.contractViolated(error, request.requestId))
      .finally(() => services.open.end());
  }
};

const writeLate = async (call: Call, lateOutcome: CallOutcome): Promise<void> => {
  const { index, batch } = call;
  const { admission, services, request } = batch;
  services.open.begin();
  try {
    const outcome = redactOutcome(lateOutcome, call);
    const requestId = services.redactor.cut(request.requestId, MAX_REQUEST_ID, 'journal');
    const isWritten = admission !== null && admission.scope === 'session' && services.journal > 0;
    await Promise.all([
      isWritten ? admission.addLate(toLateLine({ requestId, index }, toLateResult(outcome, batch))) : undefined,
      saysMore(outcome, call.outcome) ? amendAll(call, renderLate(call, outcome)) : undefined,
    ]);
  } catch (error) {
    services.observer.contractViolated(error, request.requestId);
  } finally {
    services.open.end();
  }
};

/** In the record of its batch, and in its own. */
const amendAll = async ({ record, batch, index }: Call, result: string): Promise<void> => {
  await Promise.all([record?.amend(index, result), batch.record?.amend(index, result)]);
};

/**
 * Whether a late outcome tells a repeat more than the kept one: any does where nobody knew, else only a success. A safe
 * handler that ends because its time is over only says so in other words.
 */
const saysMore = (late: CallOutcome, kept: CallOutcome | null): boolean =>
  late.kind === 'success' || (kept?.kind === 'failure' && kept.failure.outcome === 'unknown');

const MAX_LATE_MESSAGE = 500;

const toLateResult = (ended: CallOutcome, { services }: Batch): LateResult => {
  const { outcome, executed, message, code } =
    ended.kind === 'success' ? { ...ended, outcome: 'success' as const, code: null } : ended.failure;
  return {
    time: new Date(services.time()).toISOString(),
    outcome,
    executed,
    code,
    message: services.redactor.cut(message, MAX_LATE_MESSAGE, 'journal'),
  };
};

/** The result as a repeat of the batch will get it. */
const renderLate = (call: Call, outcome: CallOutcome): string => {
  const { services, startedAt } = call.batch;
  const own = outcome.kind === 'success' ? outcome.warnings : NO_WARNINGS;
  const frame = { call, durationMs: services.now() - startedAt, warnings: [...own, ...toCallWarnings(call)] };
  const notes = { reference: call.reference, suffix: NO_SUFFIX, retry: null };
  return (outcome.kind === 'success' ? renderSuccess(outcome, frame) : renderFailure(outcome, frame, notes)).json;
};
