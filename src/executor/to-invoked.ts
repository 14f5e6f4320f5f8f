import { FAILURE_POLICY } from '../contract/failure.ts';
import type { AnsweredCall } from './answered-batch.ts';
import type { Batch } from './batch.ts';
import type { RanCall } from './call-end.ts';
import type { ToolInvoked } from './call-observer.ts';
import { bucketOf } from './find-obstacle.ts';
import type { ResolvedCall } from './resolve-call.ts';

/** The event that every call emits, on every exit: failures like successes, and replays too. */
export const toInvoked = (
  call: ResolvedCall,
  { end, durationMs, kept }: RanCall,
  origin: AnsweredCall['origin'],
  batch: Batch,
): ToolInvoked => {
  const failure = end.kind === 'failure' ? end.failure : null;
  return {
    requestId: batch.requestId,
    traceId: batch.traceId,
    session: batch.sessionKey,
    index: call.index,
    callId: call.id,
    tool: bucketOf(call),
    success: failure === null,
    outcome: failure?.outcome ?? 'success',
    executed: end.kind === 'success' ? end.executed : end.failure.executed,
    code: failure?.code ?? null,
    fault: failure === null ? null : FAILURE_POLICY[failure.code].fault,
    fatal: failure?.fatal ?? false,
    replayed: origin === 'copy' || kept !== undefined,
    durationMs,
    message: end.kind === 'success' ? end.message : end.failure.message,
    valueJson: end.valueJson,
  };
};
