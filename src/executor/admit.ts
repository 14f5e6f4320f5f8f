import { type Batch, type Call, isReady } from './call.ts';
import { findRefusal } from './obstacles.ts';
import { RoundCall } from './round-call.ts';
import { type Admission, type RequestedTool, type Round, type SessionStore, UNKNOWN_TOOL } from './session-store.ts';

const LEASE_MARGIN_MS = 5000;

/** Three retries for all invented names together, as for a tool that is safe to repeat. */
export const UNKNOWN_NAMES: RequestedTool = {
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
  const { request } = batch;
  if (batch.isReplay) return undefined;
  if (request.resumed !== undefined && request.resumed.admission !== null)
    return resume(batch, request.resumed.admission);
  const store = selectStore(batch);
  if (store === null) return undefined;
  const admission = store.admit(toRound(batch));
  if (admission instanceof Promise) return admission.then((later) => applyAdmission(batch, later));
  applyAdmission(batch, admission);
  return undefined;
};

/** Finds what the session would say of the round, which is not let in: nothing is reserved or counted. */
export const forecastAdmission = async (batch: Batch): Promise<void> => {
  const store = selectStore(batch);
  if (store === null) return;
  const forecast = await store.forecast(toRound(batch));
  batch.admission = { ...forecast, ...UNSETTLED };
  if (forecast.verdicts.length > 0) applyVerdicts(batch, forecast.verdicts);
};

const UNSETTLED: Pick<Admission, 'settle' | 'ticketOf' | 'addLate'> = {
  settle: () => new Map(),
  ticketOf: () => '',
  addLate: async () => undefined,
};

/** Marks the calls that are asked for; the store that is asked, or null where there is nothing to ask. */
const selectStore = (batch: Batch): SessionStore | null => {
  const { request, services, calls } = batch;
  for (const call of calls) call.isAsked = mayAsk(call);
  // In a session calls are written down even where none of them names a tool.
  const isEmpty = request.sessionKey === null ? !calls.some(isAsked) : calls.length === 0;
  if (isEmpty) return null;
  if (request.sessionKey !== null) batch.requested = calls.filter(isAsked).map((call) => new RoundCall(call));
  return request.sessionKey === null ? services.requests : services.sessions;
};

// A resumed call was let in when it was accepted.
const resume = (batch: Batch, admission: Admission): undefined => {
  batch.admission = admission;
  for (const call of batch.calls) call.isAsked = true;
};

const mayAsk = (call: Call): boolean => {
  if (call.state.kind !== 'open' || call.kind === 'refused') return false;
  const failure = isReady(call) ? findRefusal(call) : null;
  if (failure !== null) call.state = { kind: 'obstructed', failure };
  return call.original === null && failure === null;
};

const isAsked = (call: Call): boolean => call.isAsked;

const toRound = ({ request, calls, requested }: Batch): Round => ({
  sessionKey: request.sessionKey ?? request.requestId,
  batchId: request.batchId,
  roundId: request.roundId,
  leaseMs: request.deadlineMs + LEASE_MARGIN_MS,
  tools: listTools(calls),
  calls: requested,
});

/** The tools of the calls that are asked for, each once. */
const listTools = (calls: readonly Call[]): readonly RequestedTool[] => {
  const tools: RequestedTool[] = [];
  let last: Call | null = null;
  for (const call of calls) {
    if (!call.isAsked || (last !== null && last.tool === call.tool)) continue;
    last = call;
    const name = call.budgetKey;
    if (!tools.some((tool) => tool.name === name)) tools.push(requestTool(call));
  }
  return tools;
};

const requestTool = (call: Call): RequestedTool => {
  if (!isReady(call)) return UNKNOWN_NAMES;
  const { name, retries, maxCallsPerSession, effects, polling } = call.tool;
  return { name, retries, maxCalls: maxCallsPerSession, effects, polling };
};

const applyAdmission = (batch: Batch, admission: Admission): void => {
  const { observer } = batch.services;
  batch.admission = admission;
  for (const [tool, permit] of admission.permits) {
    if (permit.decision === 'unavailable' || permit.decision === 'idle' || permit.budget === null) continue;
    if (permit.decision === 'retry') batch.hasRetries = true;
    const denial = permit.decision === 'denied' ? permit.denial : null;
    observer.budgetDecided({ tool, decision: permit.decision, denial, mode: admission.mode });
  }
  if (admission.verdicts.length > 0) observeLoops(batch, admission.verdicts);
};

const observeLoops = (batch: Batch, verdicts: Admission['verdicts']): void => {
  applyVerdicts(batch, verdicts);
  for (const call of batch.calls)
    if (call.verdict?.kind === 'loop' && isReady(call)) batch.services.observer.loopDetected(call.tool.name);
};

const applyVerdicts = (batch: Batch, verdicts: Admission['verdicts']): void => {
  let place = 0;
  batch.hasVerdicts = true;
  for (const call of batch.calls) {
    if (!call.isAsked) continue;
    call.verdict = verdicts[place] ?? null;
    place += 1;
  }
};
