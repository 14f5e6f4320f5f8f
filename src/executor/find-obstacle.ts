import type { BatchEndCause } from './batch-end.ts';
import { type Failure, toFailure } from './failure.ts';
import * as text from './failure-text.ts';
import type { ResolvedCall } from './resolve-call.ts';
import type { RunningBatch } from './running-batch.ts';
import { type CallVerdict, UNKNOWN_TOOL } from './session-store.ts';

/** A call that names a tool, or a name that no tool has. */
export type NamedCall = Exclude<ResolvedCall, { kind: 'refused' }>;

/** What keeps a call from running as far as its batch, its session and the service know before its arguments are read. */
export const findObstacle = (
  call: NamedCall,
  moment: number,
  batch: RunningBatch,
  { sessionRetries }: { readonly sessionRetries: number },
): Failure | null => {
  const cause = batch.end.causeAt(moment);
  const tool = call.kind === 'ready' ? call.tool : null;
  if (cause !== null) return toNotStarted(cause);
  if (batch.isDraining()) return toFailure('shutting_down', text.SHUTTING_DOWN_TEXT, tool);
  const permit = batch.permits.get(bucketOf(call));
  if (permit === undefined || permit.decision === 'idle' || permit.decision === 'free' || permit.decision === 'retry')
    return toVerdictFailure(call, batch.verdicts.get(call.index));
  if (permit.decision === 'unavailable') return toFailure('store_unavailable', text.STORE_UNAVAILABLE_TEXT, tool);
  const denied =
    call.kind === 'unknown_tool'
      ? `${call.failure.message}${text.NO_RETRIES_FOR_UNKNOWN_NAMES}`
      : text.denialText(call.tool.name, permit.denial, permit.budget, sessionRetries);
  return toFailure('retry_budget_exhausted', denied, tool);
};

const toVerdictFailure = (call: NamedCall, verdict: CallVerdict | undefined): Failure | null => {
  if (verdict === undefined || verdict.kind === 'run') return null;
  const tool = call.kind === 'ready' ? call.tool : null;
  if (verdict.kind === 'limit')
    return toFailure('call_limit_exceeded', text.callLimitText(bucketOf(call), verdict.of, verdict.limit), tool);
  return toFailure('loop_detected', text.loopText(bucketOf(call), verdict.cause, verdict.times), tool);
};

/** Under which name the call's budget is kept and its numbers are labelled. */
export const bucketOf = (call: ResolvedCall): string =>
  call.kind === 'ready' || (call.kind === 'refused' && call.tool !== null)
    ? (call.tool?.name ?? UNKNOWN_TOOL)
    : UNKNOWN_TOOL;

/** A call the batch ended before: the service's fault only where it is stopping. */
export const toNotStarted = (cause: BatchEndCause): Failure => {
  if (cause === 'shutdown') return toFailure('shutting_down', text.SHUTTING_DOWN_TEXT, null);
  const message = cause === 'deadline' ? text.CANCELLED_BY_DEADLINE_TEXT : text.CANCELLED_BY_CLIENT_TEXT;
  return toFailure('cancelled', message, null, { outcome: 'refused', executed: 'no' });
};
