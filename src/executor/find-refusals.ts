import { isSafe } from '../tools/tool.ts';
import type { BatchArguments } from './batch-arguments.ts';
import { type RanCall, unstarted } from './call-end.ts';
import type { CircuitBreakers } from './circuit/circuit-breakers.ts';
import { toCircuitOpen } from './execute-call.ts';
import { type Failure, toFailure } from './failure.ts';
import { KEYED_STORE_UNAVAILABLE_TEXT } from './failure-text.ts';
import type { KeyedRun } from './idempotency/keyed-run.ts';
import type { ReadyCall, ResolvedCall } from './resolve-call.ts';

/**
 * The calls that are refused without asking the session for them, by index: their tool's circuit is open, or they are
 * writes of a keyed batch whose record cannot be held. They cost no retry and count against no limit.
 */
export const findRefusals = (
  calls: readonly ResolvedCall[],
  given: BatchArguments,
  keyed: Pick<KeyedRun, 'state'> | null,
  earlier: ReadonlyMap<number, unknown>,
  { circuits }: { readonly circuits: CircuitBreakers },
): ReadonlyMap<number, RanCall> => {
  const refused = new Map<number, RanCall>();
  for (const call of calls) {
    if (call.kind !== 'ready' || earlier.has(call.index)) continue;
    const failure = keyed?.state === 'away' ? toUnheld(call) : null;
    const refusal = failure ?? toRefusal(call, given, circuits);
    if (refusal !== null) refused.set(call.index, unstarted(refusal));
  }
  return refused;
};

const toUnheld = ({ tool }: ReadyCall): Failure | null =>
  isSafe(tool) ? null : toFailure('store_unavailable', KEYED_STORE_UNAVAILABLE_TEXT, tool);

const toRefusal = (call: ReadyCall, given: BatchArguments, circuits: CircuitBreakers): Failure | null => {
  const parsed = given.read(call);
  const retryAfterMs = parsed.ok ? circuits.refusal(call.tool, parsed.value) : null;
  return retryAfterMs === null ? null : toCircuitOpen(call.tool, retryAfterMs);
};
