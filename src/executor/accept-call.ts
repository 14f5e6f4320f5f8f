import { toDigest } from '../json/canonical-text.ts';
import type { Tool } from '../tools/tool.ts';
import { type Batch, type Call, fingerprintOf, isReady, type ReadyCall, readArguments } from './call.ts';
import { CallContext } from './call-context.ts';
import { type CallOutcome, toFailure } from './call-outcome.ts';
import type { RunOutcome } from './deadline.ts';
import * as text from './failure-text.ts';
import { invokeTool, toCheckingTool, toPreviewingTool } from './invoke-tool.ts';
import { toCallOutcome } from './outcome.ts';
import type { Acceptance, AcceptedCall, AsyncTerms, CallPlace, CallSpec } from './pending-calls.ts';

// A batch whose caller prefers an asynchronous answer runs no handler itself: it accepts each call, which a worker runs, and
// waits for the ends as long as its caller wants to.

/**
 * 3 finds the calls that are pending in their session already: a model that calls again gets the same handle, nothing runs
 * twice, and nothing is charged.
 */
export const findAccepted = (batch: Batch): Promise<void> | undefined => {
  const { request, calls } = batch;
  if (batch.isReplay || request.sessionKey === null || request.resumed !== undefined || isForgotten(batch))
    return undefined;
  // Most batches have no such call: they pay for this loop alone.
  for (const call of calls) if (mayBePending(call)) return joinPending(calls, request.sessionKey);
  return undefined;
};

const mayBePending = (call: Call): call is ReadyCall =>
  isReady(call) &&
  (call.batch.async !== null || call.tool.background !== 'never' || call.batch.services.policies.mayAsk(call.tool));

/** Makes of a call the pending one that an earlier try of its batch has accepted; false: none has, or its caller may not know. */
export const reattachCall = async (call: Call): Promise<boolean> => {
  const { request, services } = call.batch;
  const place = toPlace(call);
  if (place === null || call.original !== null || !mayKnow(call)) return false;
  const accepted = await services.pending.reattach(request.tenant, place);
  if (accepted === null) return false;
  joinCall(call, accepted);
  return true;
};

/** What names a call in each try: its record where its id is its key, wherever it stands; else the record of its batch and its place. */
const toPlace = ({ recordKey, index, batch: { request } }: Call): CallPlace | null => {
  if (recordKey !== null) return { recordKey, place: 0 };
  return request.idempotency === null ? null : { recordKey: request.idempotency.recordKey, place: index };
};

/** What names a call as a pending one: as above, or, where it has no key, its request. */
export const placeOf = (call: Call): CallPlace =>
  toPlace(call) ?? { recordKey: call.batch.request.pendingRecord?.().recordKey ?? '', place: call.index };

// Its tool may have gone since it was accepted.
const mayKnow = (call: Call): boolean =>
  isReady(call) || (call.refusal?.code !== 'not_authorized' && call.batch.request.mayUse(call.name ?? ''));

const joinPending = async (calls: readonly Call[], sessionKey: string): Promise<void> => {
  await Promise.all(
    calls.map(async (call) => {
      if (!mayBePending(call) || call.state.kind !== 'open' || call.original !== null) return;
      if (!readArguments(call).ok) return;
      const accepted = await call.batch.services.pending.find(sessionKey, fingerprintOf(call));
      if (accepted !== null) joinCall(call, accepted);
    }),
  );
};

/** Makes of a call the pending one that another batch has accepted, and tells who streams the batch. */
const joinCall = (call: Call, accepted: AcceptedCall): void => {
  call.accept(accepted, 'another_batch');
  void announce(call, accepted.handle);
};

/** Accepts a call that may run, and waits for its end as long as its batch waits. */
export const acceptCall = async (call: ReadyCall): Promise<void> => {
  const invalid = await findInvalid(call);
  if (invalid !== null) {
    call.end(invalid);
    return;
  }
  const { services, cancellation } = call.batch;
  const leftMs = cancellation.remainingAt(services.now());
  const acceptance = isForgotten(call.batch)
    ? UNAVAILABLE
    : await services.pending.accept(toSpec(call), (handle) => announce(call, handle), leftMs);
  if (acceptance.kind !== 'accepted') {
    refuse(call, acceptance);
    return;
  }
  if (acceptance.how === 'joined') joinCall(call, acceptance.call);
  else {
    call.accept(acceptance.call, 'this_batch');
    services.observer.callAccepted();
  }
  await awaitAccepted(call);
};

/** Whether nothing can be kept of the batch: nobody could ask for its pending calls. */
export const isForgotten = ({ record }: Batch): boolean => record?.state === 'away';

const UNAVAILABLE = { kind: 'unavailable' } as const;

/** Tells who streams the batch, if anybody does. */
const announce = ({ index, batch }: Call, handle: string): Promise<void> | undefined =>
  batch.request.listener?.pending?.(index, handle);

const refuse = (call: ReadyCall, acceptance: Exclude<Acceptance, { kind: 'accepted' }>): void => {
  const { tool } = call;
  if (acceptance.kind === 'unavailable') {
    call.fail(toFailure('store_unavailable', text.PENDING_STORE_UNAVAILABLE_TEXT, tool));
    return;
  }
  const { of, limit } = acceptance;
  call.fail(
    toFailure(
      of === 'service' || of === 'memory' ? 'overloaded' : 'call_limit_exceeded',
      text.pendingLimitText(tool.name, of, limit),
      tool,
    ),
  );
};

// A batch that says nothing of how long it waits gives short calls the time to end: most do.
const SHORT_CALL_MS = 1000;

/** Waits for the end of a pending call as long as its batch waits; not at all where that did not ask for pending calls. */
export const awaitAccepted = async (call: Call): Promise<void> => {
  const { state, batch } = call;
  if (state.kind !== 'pending' || batch.async === null) return;
  const standardMs = call.tool?.background === 'never' && call.asked === null ? SHORT_CALL_MS : 0;
  const leftMs = batch.startedAt + (batch.async.waitMs ?? standardMs) - batch.services.now();
  // How it stands was just read or written.
  if (leftMs <= 0) return;
  const standing = await state.accepted.ended(leftMs, batch.async.over);
  if (standing !== null) call.progress(standing);
};

/** The terms of a batch whose calls run in the background only because of an earlier try: its caller waits for their ends. */
export const toWaitingTerms = ({ request, cancellation }: Batch): AsyncTerms => ({
  waitMs: request.deadlineMs,
  notify: null,
  over: new Promise((resolve) => void cancellation.onCancel(() => resolve())),
});

/** What is wrong with the arguments, as the tool's own check says; null where nothing is. */
export const findInvalid = (call: ReadyCall): CallOutcome | null | Promise<CallOutcome | null> => {
  if (!readArguments(call).ok) return null;
  const ran = ask(call, 'check', Math.min(call.timeoutMs, call.tool.timeoutMs));
  return ran instanceof Promise ? ran.then((later) => toInvalid(call, later)) : toInvalid(call, ran);
};

const toInvalid = (call: ReadyCall, ran: RunOutcome): CallOutcome | null => {
  if (ran.kind === 'returned') return null;
  const outcome = toOutcome(call, 'check', ran);
  return outcome.kind === 'success' ? null : outcome;
};

const PREVIEW_MS = 5000;

/** What the tool's own `preview` says of the call, or how that failed. Of a call whose arguments are valid. */
export const previewCall = async (call: ReadyCall): Promise<CallOutcome> =>
  toOutcome(call, 'preview', await ask(call, 'preview', PREVIEW_MS));

type Purpose = 'check' | 'preview';

const ask = (call: ReadyCall, purpose: Purpose, mostMs: number): RunOutcome | Promise<RunOutcome> => {
  const { tool, batch } = call;
  const { services, cancellation } = batch;
  const parsed = readArguments(call);
  const input = parsed.ok ? parsed.value : {};
  const timeoutMs = Math.max(1, Math.min(mostMs, Math.ceil(cancellation.remainingAt(services.now()))));
  const terms = { context: createContext(call, timeoutMs), timeoutMs, cancellation };
  const reading = toReading(tool, purpose);
  return reading.runsIn === 'service'
    ? invokeTool(reading, input, terms)
    : services.runHosted(reading, input, { ...terms, graceful: 'on', purpose });
};

const toOutcome = ({ tool, batch }: ReadyCall, purpose: Purpose, ran: RunOutcome): CallOutcome =>
  toCallOutcome(ran, toReading(tool, purpose), { graceful: 'on', maxResultBytes: batch.services.maxResultBytes });

// Made once of each tool: every call that rules decide of is checked.
const READING = { check: new WeakMap<Tool, Tool>(), preview: new WeakMap<Tool, Tool>() };

/** The tool as it is asked about a call: its handler does not run. */
const toReading = (tool: Tool, purpose: Purpose): Tool => {
  let reading = READING[purpose].get(tool);
  if (reading === undefined) {
    const toService = purpose === 'check' ? toCheckingTool : toPreviewingTool;
    reading = tool.runsIn === 'service' ? toService(tool) : { ...tool, effects: 'read' };
    READING[purpose].set(tool, reading);
  }
  return reading;
};

const createContext = ({ tool, id, batch }: ReadyCall, timeoutMs: number): CallContext => {
  const { requestId, sessionKey: session, tenant, callerId: caller = null } = batch.request;
  return new CallContext({
    requestId,
    tool: tool.name,
    callId: id,
    session,
    tenant: caller === null ? null : tenant,
    caller,
    effects: tool.effects,
    retriesLeft: tool.retries,
    timeoutMs,
    createLog: batch.services.createLog,
  });
};

/** Until when it has time; of one that a person has to approve that is when the approval expires. */
const describeEnd = ({ tool, asked, batch }: ReadyCall, acceptedAt: number): Pick<CallSpec, 'expiresAt' | 'runMs'> => {
  const runMs = tool.background === 'never' ? batch.request.deadlineMs : tool.maxDurationMs;
  return asked === null ? { expiresAt: acceptedAt + runMs } : { expiresAt: Date.parse(asked.expires_at), runMs };
};

const toSpec = (call: ReadyCall): CallSpec => {
  const { batch, tool, index, id, name, timeoutMs } = call;
  const { request, services, admission } = batch;
  const parsed = readArguments(call);
  const acceptedAt = services.time();
  const { requestKey = '' } = request.idempotency ?? request.pendingRecord?.() ?? {};
  return {
    requestId: request.requestId,
    requestKey,
    ...placeOf(call),
    tenant: request.tenant,
    key: request.key,
    keyHash: request.keyHash,
    caller: request.caller,
    callerId: request.callerId ?? null,
    sessionKey: request.sessionKey,
    index,
    id,
    name: name ?? tool.name,
    tool: tool.name,
    effects: tool.effects,
    background: tool.background,
    arguments: JSON.stringify(parsed.ok ? parsed.value : {}),
    fingerprint: fingerprintOf(call),
    timeoutMs,
    // The store keeps no key as it was sent. Without one the handle stands for it, which follows from the key.
    idempotencyKey: call.recordKey === null ? null : toDigest(call.recordKey),
    ticket: request.sessionKey === null ? null : (admission?.ticketOf(call.budgetKey) ?? null),
    grant: call.grantTicket,
    approval: call.asked,
    retries: tool.retries,
    notify: batch.async?.notify ?? null,
    traceId: request.traceId,
    acceptedAt,
    ...describeEnd(call, acceptedAt),
  };
};
