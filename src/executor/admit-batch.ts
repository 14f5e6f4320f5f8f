import type { Batch } from './batch.ts';
import type { BatchArguments } from './batch-arguments.ts';
import type { CallObserver } from './call-observer.ts';
import type { NamedCall } from './find-obstacle.ts';
import type { ReadyCall, ResolvedCall } from './resolve-call.ts';
import {
  type Admission,
  type AskedCall,
  type AskedTool,
  type CallVerdict,
  type Permit,
  type SessionStore,
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

export type AdmitTerms = {
  readonly sessions: SessionStore;
  /** Where batches without a session keep their budgets. */
  readonly requests: SessionStore;
  readonly observer: CallObserver;
};

/** A batch that was let in, wholly or in part. */
export type AdmittedBatch = {
  /** null where there was nothing to ask for. */
  readonly admission: Admission | null;
  /** The calls that were asked for, in the order of the batch. */
  readonly asked: readonly NamedCall[];
  /** By index of the call; empty where every call may run and none has a streak. */
  readonly verdicts: ReadonlyMap<number, CallVerdict>;
};

const NO_VERDICTS: ReadonlyMap<number, CallVerdict> = new Map();

/** 4 admits the batch as (part of) a round: one store round trip. `calls` are those that would run. */
export const admitBatch = async (
  batch: Batch,
  calls: readonly ResolvedCall[],
  given: BatchArguments,
  terms: AdmitTerms,
): Promise<AdmittedBatch> => {
  const asked = calls.filter((call) => call.kind !== 'refused');
  // In a session calls are written down even where none of them names a tool.
  const isEmpty = batch.sessionKey === null ? asked.length === 0 : batch.calls.length === 0;
  if (isEmpty) return { admission: null, asked, verdicts: NO_VERDICTS };
  const store = batch.sessionKey === null ? terms.requests : terms.sessions;
  const admission = await store.admit({
    sessionKey: batch.sessionKey ?? batch.requestId,
    batchId: batch.batchId,
    roundId: batch.roundId,
    leaseMs: batch.deadlineMs + LEASE_MARGIN_MS,
    tools: toDistinctTools(asked),
    calls: batch.sessionKey === null ? [] : asked.map((call) => toAskedCall(call, given)),
  });
  for (const [tool, permit] of admission.permits) observeDecision(tool, permit, admission, terms.observer);
  return { admission, asked, verdicts: toVerdicts(asked, admission, terms.observer) };
};

const toDistinctTools = (calls: readonly NamedCall[]): readonly AskedTool[] => {
  const tools = new Map<string, AskedTool>();
  for (const call of calls) {
    if (call.kind === 'unknown_tool') tools.set(UNKNOWN_TOOL, UNKNOWN_NAMES);
    else if (!tools.has(call.tool.name)) tools.set(call.tool.name, toAskedTool(call));
  }
  return [...tools.values()];
};

const toAskedTool = ({ tool }: ReadyCall): AskedTool => ({
  name: tool.name,
  retries: tool.retries,
  maxCalls: tool.maxCallsPerSession,
  effects: tool.effects,
  polling: tool.polling,
});

/** A call as its session is asked for it. */
export const toAskedCall = (call: NamedCall, given: BatchArguments): AskedCall =>
  call.kind === 'unknown_tool'
    ? { tool: UNKNOWN_TOOL, counts: false, mark: null }
    : { tool: call.tool.name, counts: given.read(call).ok, mark: given.markOf(call) };

const toVerdicts = (
  asked: readonly NamedCall[],
  { verdicts }: Admission,
  observer: CallObserver,
): ReadonlyMap<number, CallVerdict> => {
  if (verdicts.length === 0) return NO_VERDICTS;
  const byIndex = new Map<number, CallVerdict>();
  for (const [position, call] of asked.entries()) {
    const verdict = verdicts[position];
    if (verdict === undefined) continue;
    byIndex.set(call.index, verdict);
    if (verdict.kind === 'loop' && call.kind === 'ready') observer.loopDetected(call.tool.name);
  }
  return byIndex;
};

const observeDecision = (tool: string, permit: Permit, { mode }: Admission, observer: CallObserver): void => {
  if (permit.decision === 'unavailable' || permit.decision === 'idle' || permit.budget === null) return;
  const denial = permit.decision === 'denied' ? permit.denial : null;
  observer.budgetDecided({ tool, decision: permit.decision, denial, mode });
};
