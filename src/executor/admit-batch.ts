import type { Batch } from './batch.ts';
import type { CallObserver } from './call-observer.ts';
import type { ResolvedCall } from './resolve-call.ts';
import { type Admission, type Permit, type SessionStore, UNKNOWN_TOOL } from './session-store.ts';

const LEASE_MARGIN_MS = 5000;
// Three for all invented names together, as for a tool that is safe to repeat.
const UNKNOWN_RETRIES = 3;

export type AdmitTerms = {
  readonly sessions: SessionStore;
  /** Where batches without a session keep their budgets. */
  readonly requests: SessionStore;
  readonly observer: CallObserver;
};

/** 4 admits the batch as (part of) a round: one store round trip. Null where no call names anything to admit. */
export const admitBatch = async (
  batch: Batch,
  calls: readonly ResolvedCall[],
  terms: AdmitTerms,
): Promise<Admission | null> => {
  const tools = toDistinctTools(calls);
  if (tools.length === 0) return null;
  const store = batch.sessionKey === null ? terms.requests : terms.sessions;
  const admission = await store.admit({
    sessionKey: batch.sessionKey ?? batch.requestId,
    batchId: batch.batchId,
    roundId: batch.roundId,
    leaseMs: batch.deadlineMs + LEASE_MARGIN_MS,
    tools,
  });
  for (const [tool, permit] of admission.permits) observeDecision(tool, permit, admission, terms.observer);
  return admission;
};

const toDistinctTools = (calls: readonly ResolvedCall[]): readonly { name: string; retries: number }[] => {
  const tools = new Map<string, number>();
  for (const call of calls) {
    if (call.kind === 'ready') tools.set(call.tool.name, call.tool.retries);
    if (call.kind === 'unknown_tool') tools.set(UNKNOWN_TOOL, UNKNOWN_RETRIES);
  }
  const distinct: { name: string; retries: number }[] = [];
  for (const [name, retries] of tools) distinct.push({ name, retries });
  return distinct;
};

const observeDecision = (tool: string, permit: Permit, { mode }: Admission, observer: CallObserver): void => {
  if (permit.decision === 'unavailable' || permit.budget === null) return;
  const denial = permit.decision === 'denied' ? permit.denial : null;
  observer.budgetDecided({ tool, decision: permit.decision, denial, mode });
};
