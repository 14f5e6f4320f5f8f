import { isSafe, type Tool } from '../tools/tool.ts';
import { type Batch, type Call, isReady, type ReadyCall, readArguments, recordOf } from './call.ts';
import { type Failure, toFailure } from './call-outcome.ts';
import type { CancelCause } from './deadline.ts';
import * as text from './failure-text.ts';
import { bucketOf, RoundCall } from './round-call.ts';
import {
  type Admission,
  type AskedCall,
  type AskedTool,
  type CallVerdict,
  type Permit,
  type Round,
  UNKNOWN_TOOL,
} from './session-store.ts';

const LEASE_MARGIN_MS = 5000;

/** Three retries for all invented names together, as for a tool that is safe to repeat. */
export const UNKNOWN_NAMES: AskedTool = {
  name: UNKNOWN_TOOL,
  retries: 3,
  maxCalls: null,
  effects: 'read',
  polling: false,
};

/**
 * 4 admits the batch as (part of) a round, one store round trip. First refuses the calls that the session is not asked for:
 * their tool's circuit is open, or they are writes of a keyed batch whose record cannot be held. They cost no retry and
 * count against no limit.
 */
export const admitBatch = (batch: Batch): Promise<void> | undefined => {
  const { request, services, calls, asked } = batch;
  if (batch.isReplay) return undefined;
  if (request.resumed !== undefined && request.resumed.admission !== null)
    return resume(batch, request.resumed.admission);
  for (const call of calls) if (mayAsk(call)) asked.push(new RoundCall(call));
  // In a session calls are written down even where none of them names a tool.
  const isEmpty = request.sessionKey === null ? asked.length === 0 : calls.length === 0;
  if (isEmpty) return undefined;
  const store = request.sessionKey === null ? services.requests : services.sessions;
  const admission = store.admit(toRound(batch));
  if (admission instanceof Promise) return admission.then((admitted) => applyAdmission(batch, admitted));
  applyAdmission(batch, admission);
  return undefined;
};

// It was let in when it was accepted.
const resume = (batch: Batch, admission: Admission): undefined => {
  batch.admission = admission;
  for (const call of batch.calls) call.isAsked = true;
};

const mayAsk = (call: Call): boolean => {
  if (call.outcome !== null || call.accepted !== null || call.kind === 'refused') return false;
  if (isReady(call)) call.obstacle = findRefusal(call);
  call.isAsked = call.original === null && call.obstacle === null;
  return call.isAsked;
};

const toRound = ({ request, calls, asked }: Batch): Round => ({
  sessionKey: request.sessionKey ?? request.requestId,
  batchId: request.batchId,
  roundId: request.roundId,
  leaseMs: request.deadlineMs + LEASE_MARGIN_MS,
  tools: toDistinctTools(calls),
  calls: request.sessionKey === null ? NO_CALLS : asked,
});

const NO_CALLS: readonly AskedCall[] = [];

const findRefusal = (call: ReadyCall): Failure | null => {
  const { services, request } = call.batch;
  if (call.tool.background === 'always' && call.batch.async === null && request.resumed === undefined)
    return toFailure('async_required', text.asyncRequiredText(call.tool.name), call.tool);
  if (!isSafe(call.tool) && recordOf(call)?.state === 'away')
    return toFailure('store_unavailable', text.KEYED_STORE_UNAVAILABLE_TEXT, call.tool);
  const parsed = readArguments(call);
  const retryAfterMs = parsed.ok ? services.circuits.refusal(call.tool, parsed.value) : null;
  return retryAfterMs === null ? null : toCircuitOpen(call.tool, retryAfterMs);
};

export const toCircuitOpen = (tool: Tool, retryAfterMs: number): Failure =>
  toFailure('circuit_open', text.circuitOpenText(tool.name, retryAfterMs), tool, {
    retryAfterMs: Math.ceil(retryAfterMs),
  });

const toDistinctTools = (calls: readonly Call[]): readonly AskedTool[] => {
  const tools: AskedTool[] = [];
  let last: Call | null = null;
  for (const call of calls) {
    if (!call.isAsked || (last !== null && last.tool === call.tool)) continue;
    last = call;
    const name = bucketOf(call);
    if (!tools.some((tool) => tool.name === name)) tools.push(toAskedTool(call));
  }
  return tools;
};

const toAskedTool = (call: Call): AskedTool => {
  if (!isReady(call)) return UNKNOWN_NAMES;
  const { name, retries, maxCallsPerSession, effects, polling } = call.tool;
  return { name, retries, maxCalls: maxCallsPerSession, effects, polling };
};

const applyAdmission = (batch: Batch, admission: Admission): void => {
  batch.admission = admission;
  for (const [tool, permit] of admission.permits) observeDecision(tool, permit, batch, admission);
  if (admission.verdicts.length > 0) applyVerdicts(batch, admission.verdicts);
};

const applyVerdicts = (batch: Batch, verdicts: readonly CallVerdict[]): void => {
  const { observer } = batch.services;
  let place = 0;
  batch.hasVerdicts = true;
  for (const call of batch.calls) {
    if (!call.isAsked) continue;
    call.verdict = verdicts[place] ?? null;
    place += 1;
    if (call.verdict?.kind === 'loop' && isReady(call)) observer.loopDetected(call.tool.name);
  }
};

const observeDecision = (tool: string, permit: Permit, batch: Batch, { mode }: Admission): void => {
  if (permit.decision === 'unavailable' || permit.decision === 'idle' || permit.budget === null) return;
  const denial = permit.decision === 'denied' ? permit.denial : null;
  batch.services.observer.budgetDecided({ tool, decision: permit.decision, denial, mode });
};

/** The reason this call must not run (batch over, draining, budget, loop, limit), or null. */
export const findObstacle = (call: Call, moment: number): Failure | null => {
  const { batch } = call;
  const cause = batch.cancellation.causeAt(moment);
  const tool = isReady(call) ? call.tool : null;
  if (cause !== null) return toNotStarted(cause);
  if (batch.services.isDraining()) return toFailure('shutting_down', text.SHUTTING_DOWN_TEXT, tool);
  const permit = batch.admission?.permits.get(bucketOf(call));
  if (permit?.decision === 'unavailable') return toFailure('store_unavailable', text.STORE_UNAVAILABLE_TEXT, tool);
  if (permit?.decision !== 'denied') return toVerdictFailure(call, tool, call.verdict);
  const denied =
    tool === null
      ? `${call.refusal?.message ?? ''}${text.NO_RETRIES_FOR_UNKNOWN_NAMES}`
      : text.denialText(tool.name, permit.denial, permit.budget, batch.services.sessionRetries);
  return toFailure('retry_budget_exhausted', denied, tool);
};

const toVerdictFailure = (call: Call, tool: Tool | null, verdict: CallVerdict | null): Failure | null => {
  if (verdict === null || verdict.kind === 'run') return null;
  if (verdict.kind === 'limit')
    return toFailure('call_limit_exceeded', text.callLimitText(bucketOf(call), verdict.of, verdict.limit), tool);
  return toFailure('loop_detected', text.loopText(bucketOf(call), verdict.cause, verdict.times), tool);
};

/** A call the batch ended before: the service's fault only where it is stopping. */
export const toNotStarted = (cause: CancelCause): Failure => {
  if (cause === 'shutdown') return toFailure('shutting_down', text.SHUTTING_DOWN_TEXT, null);
  const message = cause === 'deadline' ? text.CANCELLED_BY_DEADLINE_TEXT : text.CANCELLED_BY_CLIENT_TEXT;
  return toFailure('cancelled', message, null, { outcome: 'refused', executed: 'no' });
};
