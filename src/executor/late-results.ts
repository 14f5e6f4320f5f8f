import type { LateResult } from '../contract/session.ts';
import { renderLate } from './answer.ts';
import type { Batch, Call } from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import { MAX_REQUEST_ID } from './journal/journal-line.ts';
import { toLateLine } from './journal/journal-lines.ts';
import { redactOutcome } from './redact-outcome.ts';

/**
 * 10 writes down what handlers come to after their calls were answered: into the session's journal, and over the kept
 * result of a batch that may be asked for again. Never touches a budget, and never rejects.
 */
export const watchLate = ({ calls }: Batch): undefined => {
  for (const call of calls) {
    if (call.late === null) continue;
    void call.late.then((outcome) => (outcome === null ? undefined : writeLate(call, outcome)));
  }
};

const writeLate = async (call: Call, outcome: CallOutcome): Promise<void> => {
  const { services, request } = call.batch;
  services.open.begin();
  try {
    await writeBoth(call, redactOutcome(outcome, call));
  } catch (error) {
    services.observer.contractViolated(error, request.requestId);
  } finally {
    services.open.end();
  }
};

const writeBoth = async (call: Call, outcome: CallOutcome): Promise<void> => {
  const { index, batch } = call;
  const { admission, record, services, request, startedAt } = batch;
  const requestId = services.redactor.cut(request.requestId, MAX_REQUEST_ID, 'journal');
  const isWritten = admission !== null && admission.scope === 'session' && services.journal > 0;
  await Promise.all([
    isWritten ? admission.addLate(toLateLine({ requestId, index }, toLateResult(outcome, batch))) : undefined,
    saysMore(outcome, call.outcome)
      ? record?.amend(index, renderLate(call, outcome, services.now() - startedAt))
      : undefined,
  ]);
};

/**
 * Whether a late outcome tells a repeat more than the kept one: any does where nobody knew, else only a success. A safe
 * handler that ends because its time is over only says so in other words.
 */
const saysMore = (late: CallOutcome, kept: CallOutcome | null): boolean =>
  late.kind === 'success' || (kept?.kind === 'failure' && kept.failure.outcome === 'unknown');

const MAX_MESSAGE = 500;

const toLateResult = (ended: CallOutcome, { services }: Batch): LateResult => {
  const { outcome, executed, message, code } =
    ended.kind === 'success' ? { ...ended, outcome: 'success' as const, code: null } : ended.failure;
  return {
    time: new Date(services.time()).toISOString(),
    outcome,
    executed,
    code,
    message: services.redactor.cut(message, MAX_MESSAGE, 'journal'),
  };
};
