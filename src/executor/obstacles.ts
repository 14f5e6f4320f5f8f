import { isSafe, type Tool } from '../tools/tool.ts';
import { type Call, isReady, type ReadyCall, readArguments, recordOf } from './call.ts';
import { type Failure, toFailure } from './call-outcome.ts';
import * as text from './failure-text.ts';

// Why a call does not run, found before its session is asked, and again when its turn comes.

/** The reason that is known before the session is asked: it costs no retry and counts against no limit. Else null. */
export const findRefusal = (call: ReadyCall): Failure | null => {
  const { tool, batch } = call;
  const { services, request } = batch;
  if (tool.background === 'always' && batch.async === null && request.resumed === undefined)
    return toFailure('async_required', text.asyncRequiredText(tool.name), tool);
  if (!isSafe(tool) && recordOf(call)?.state === 'away')
    return toFailure('store_unavailable', text.IDEMPOTENCY_STORE_UNAVAILABLE_TEXT, tool);
  const unwritten = explainUnwritten(call, tool);
  if (unwritten !== null) return unwritten;
  const parsed = readArguments(call);
  const retryAfterMs = parsed.ok ? services.circuits.refusal(tool, parsed.value) : null;
  return retryAfterMs === null ? null : explainOpenCircuit(tool, retryAfterMs);
};

export const explainOpenCircuit = (tool: Tool, retryAfterMs: number): Failure =>
  toFailure('circuit_open', text.circuitOpenText(tool.name, retryAfterMs), tool, {
    retryAfterMs: Math.ceil(retryAfterMs),
  });

/** The reason this call must not run at that moment (batch over, draining, budget, loop, limit), or null. */
export const findObstacle = (call: Call, moment: number): Failure | null => {
  const { batch } = call;
  const cause = batch.cancellation.causeAt(moment);
  const tool = isReady(call) ? call.tool : null;
  if (cause !== null) return text.explainNotStarted(cause);
  if (batch.services.isDraining()) return toFailure('shutting_down', text.SHUTTING_DOWN_TEXT, tool);
  const permit = batch.admission?.permits.get(call.budgetKey);
  if (permit?.decision === 'unavailable') return toFailure('store_unavailable', text.STORE_UNAVAILABLE_TEXT, tool);
  if (permit?.decision !== 'denied') return explainUnwritten(call, tool) ?? explainVerdict(call, tool);
  const denied =
    tool === null
      ? `${call.refusal?.message ?? ''}${text.NO_RETRIES_FOR_UNKNOWN_NAMES}`
      : text.denialText(tool.name, permit.denial, permit.budget, batch.services.sessionRetries);
  return toFailure('retry_budget_exhausted', denied, tool);
};

/** A write of which nothing could be written down must not begin, where the operator says so. */
export const explainUnwritten = ({ batch }: Call, tool: Tool | null): Failure | null =>
  tool !== null && !isSafe(tool) && batch.services.audit?.refusesWrites() === true
    ? toFailure('audit_unavailable', text.AUDIT_UNAVAILABLE_TEXT, tool)
    : null;

/** Why a call does not begin at that moment, whatever its arguments are; null where nothing is in its way. */
export const findReason = (call: Call, moment: number): Failure | null => {
  if (call.kind === 'refused') return call.refusal;
  return call.state.kind === 'obstructed' ? call.state.failure : (findObstacle(call, moment) ?? call.refusal);
};

const explainVerdict = ({ verdict, budgetKey }: Call, tool: Tool | null): Failure | null => {
  if (verdict === null || verdict.kind === 'run') return null;
  return verdict.kind === 'limit'
    ? toFailure('call_limit_exceeded', text.callLimitText(budgetKey, verdict.of, verdict.limit), tool)
    : toFailure('loop_detected', text.loopText(budgetKey, verdict.cause, verdict.times), tool);
};
