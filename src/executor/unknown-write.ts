import { type Call, isReady, type ReadyCall, readArguments } from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import { effectIdOf } from './effect-id.ts';
import type { RecordState } from './idempotency-store.ts';
import type { CallSpec } from './pending-calls.ts';
import type { UnknownRun, Write } from './reconciler.ts';
import { redactOutcome } from './redact-outcome.ts';

// Writes that can be looked for afterwards: what the executor tells of them, and what it gets to know.

/** Notes that a write begins, beside its mark, where it can be looked for. */
export const beginWrite = (call: ReadyCall, mark: Promise<RecordState>): Promise<RecordState> => {
  const { reconciler } = call.batch.services;
  if (!reconciler.covers(call.tool)) return mark;
  call.noted = toWrite(call);
  return reconciler.begin(call.noted, mark);
};

/**
 * Looks for a write of which nobody knows how it ended, before it is answered; another that was noted is known to have ended.
 * `run`: whose run it is.
 */
export const settleWrite = (call: Call, run: UnknownRun['run']): Promise<void> | undefined => {
  const { outcome, batch, state } = call;
  if (outcome === null || !isReady(call)) return undefined;
  if (outcome.kind !== 'failure' || outcome.failure.outcome !== 'unknown') return endWrite(call, outcome);
  // What is hidden from its caller stays as it is.
  const isHidden = state.kind === 'replayed' && state.result === null;
  if (isHidden || !batch.services.reconciler.covers(call.tool)) return undefined;
  return settle(call, run);
};

/** Reports how a write that was noted has ended, after its answer too. */
export const endWrite = (call: Call, outcome: CallOutcome): undefined => {
  if (call.noted !== null) call.batch.services.reconciler.ended(call.noted, outcome);
};

const settle = async (call: ReadyCall, run: UnknownRun['run']): Promise<void> => {
  const { batch, late } = call;
  const redacted = call.outcome === null ? null : redactOutcome(call.outcome, call);
  if (redacted?.kind !== 'failure') return;
  const { cancellation, services, size } = batch;
  const ranMs = run === 'own' ? call.durationMs : 0;
  const whose = run === 'earlier' && call.state.kind === 'replayed' ? 'other' : run;
  const unknown = { outcome: redacted, run: whose, late, ranMs, cancellation } as const;
  const found = await services.reconciler.settle(call.noted ?? toWrite(call), unknown);
  if (found === redacted) return;
  // What was answered before is not what is answered now.
  if (call.state.kind === 'overdue') call.end(found);
  else call.state = found;
  size.keep(call);
};

const toWrite = (call: ReadyCall): Write => {
  const { batch, tool, index, id, name, recordKey } = call;
  const { request, admission } = batch;
  const { resumed, idempotency } = request;
  const parsed = readArguments(call);
  const own = recordKey === null ? [] : [{ recordKey, place: 0, requestKey: '' }];
  const ofBatch = idempotency === null ? [] : [{ ...idempotency, place: index }];
  const ofPending = resumed === undefined ? [] : listPlaces(resumed.spec);
  const ticket = admission?.ticketOf(call.budgetKey) ?? null;
  return {
    ...{ effectId: effectIdOf(call), tool, input: parsed.ok ? parsed.value : {}, tenant: request.tenant },
    ...{
      caller: request.callerId ?? null,
      holder: request.caller,
      requestId: request.requestId,
      batchId: request.batchId,
    },
    ...{ sessionKey: request.sessionKey, index: resumed?.spec.index ?? index, id, name },
    places: [...own, ...ofBatch, ...ofPending],
    handle: call.handle,
    ticket: request.sessionKey === null ? null : (resumed?.spec.ticket ?? ticket),
    grant: call.grantTicket,
    notify: resumed?.spec.notify ?? batch.async?.notify ?? null,
    timeoutMs: Math.min(call.timeoutMs, request.deadlineMs),
  };
};

// A batch that waited for the end of its pending call may have kept that it is unknown.
const listPlaces = ({ recordKey, place, index }: CallSpec): Write['places'] =>
  recordKey === '' ? [] : [{ recordKey, place: place ?? index, requestKey: '' }];
