import { FAILURE_POLICY } from '../contract/failure.ts';
import type { Call } from './call.ts';
import type { ToolInvoked } from './call-observer.ts';

/** Whether nothing ran for it now: it repeats another call of its batch, or has the result of an earlier try. */
export const isReplayed = ({ state, storedResult }: Call): boolean => state.kind === 'copied' || storedResult !== null;

/** The event of an answered call, for subscribers, traces and the log of failures; of a replay too. */
export const createEvent = (call: Call): ToolInvoked => {
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
    tool: call.budgetKey,
    success: failure === null,
    outcome: failure?.outcome ?? 'success',
    executed: success?.executed ?? failure?.executed ?? 'maybe',
    code: failure?.code ?? null,
    fault: failure === null ? null : FAILURE_POLICY[failure.code].fault,
    fatal: failure?.fatal ?? false,
    replayed: isReplayed(call),
    durationMs: call.durationMs,
    message: success?.message ?? failure?.message ?? '',
    valueJson: outcome?.valueJson ?? 'null',
  };
};
