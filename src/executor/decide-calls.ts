import { toDigest } from '../json/canonical-text.ts';
import { fillDefaults } from '../tools/fill-defaults.ts';
import { findInvalid, isForgotten, placeOf } from './accept-call.ts';
import type { BatchRequest } from './batch-request.ts';
import { type Call, isReady, type ReadyCall, readArguments } from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import { hideSensitive } from './journal.ts';
import { findObstacle } from './obstacles.ts';
import type { CallDecision, CallToDecide, GivenUp, Grant, Ruling } from './policies.ts';

// Rules and approvals, between the admission of a call and its run: what they refuse ends the call, what they reserve is settled
// by how it ended.

/** Decides of the calls whose turn has come, in their order, before any of them begins. */
export const decideCalls = (calls: readonly Call[]): Promise<void> | undefined => {
  // Most services decide nothing, and most tools are in no rule: they pay for this loop alone.
  for (const call of calls) if (isConcerned(call)) return decide(calls.filter(isConcerned));
  return undefined;
};

const isConcerned = (call: Call): call is ReadyCall =>
  isReady(call) && call.state.kind === 'open' && (call.batch.services.policies.concern(call.tool) || wasDecided(call));

/** What was reserved, or asked for, when it was accepted is decided of it whatever the configuration says now. */
const wasDecided = ({ batch: { request } }: Call): boolean => {
  const { approval = null, grant = null } = request.resumed?.spec ?? {};
  return approval !== null || grant !== null;
};

const decide = (concerned: readonly ReadyCall[]): Promise<void> | undefined => {
  const preparing = concerned.map(prepareCall).filter((each) => each !== undefined);
  return preparing.length === 0
    ? decidePrepared(concerned)
    : Promise.all(preparing).then(() => decidePrepared(concerned));
};

const decidePrepared = (concerned: readonly ReadyCall[]): Promise<void> | undefined => {
  const calls = concerned.filter(mayBegin);
  const [first] = calls;
  if (first === undefined) return undefined;
  const decisions = first.batch.services.policies.decide(calls.map(toCallToDecide));
  if (decisions instanceof Promise) return decisions.then((later) => applyAll(calls, later));
  return applyAll(calls, decisions);
};

/** Ends a call whose arguments do not fit, as its run would: nothing is reserved for it, and nobody is asked. */
export const prepareCall = (call: ReadyCall): Promise<void> | undefined => {
  if (!mayBegin(call)) return undefined;
  const invalid = findInvalid(call);
  return invalid instanceof Promise ? invalid.then((later) => prepare(call, later)) : prepare(call, invalid);
};

const prepare = (call: ReadyCall, invalid: CallOutcome | null): undefined => {
  const parsed = readArguments(call);
  if (invalid !== null) call.end(invalid);
  else if (parsed.ok) call.parsedArguments = { ok: true, value: fillDefaults(call.tool.inputSchema, parsed.value) };
};

const mayBegin = (call: ReadyCall): boolean =>
  call.state.kind === 'open' && readArguments(call).ok && findObstacle(call, call.batch.services.now()) === null;

const applyAll = (calls: readonly ReadyCall[], decisions: readonly CallDecision[]): undefined => {
  for (const [place, call] of calls.entries()) apply(call, decisions[place]);
};

const apply = (call: ReadyCall, decision: CallDecision | undefined): void => {
  if (decision === undefined) throw new Error('Policies gave no decision of a call.');
  const input = decision.kind === 'run' ? (decision.input ?? null) : null;
  call.ruling = {
    grant: decision.kind === 'refused' ? null : decision.grant,
    asked: decision.kind === 'ask' ? decision.approval : null,
    decided: decision.decided ?? null,
    editedJson: input === null ? null : writeEdit(input, call),
    hasBegun: false,
  };
  if (decision.kind === 'refused') call.fail(decision.failure);
  else if (input !== null) call.parsedArguments = { ok: true, value: input };
};

const writeEdit = (input: Readonly<Record<string, unknown>>, { tool, batch }: ReadyCall): string =>
  batch.services.redactor.value(JSON.stringify(hideSensitive(input, tool)), 'result');

/** A call that could begin now, as policies decide of it. */
export const toCallToDecide = (call: ReadyCall): CallToDecide => {
  const { batch, tool, index, id, name, timeoutMs } = call;
  const { request, async } = batch;
  const { resumed } = request;
  const parsed = readArguments(call);
  const mayWait = async !== null && resumed === undefined && !isForgotten(batch);
  return {
    tool,
    input: parsed.ok ? parsed.value : {},
    tenant: request.tenant,
    key: request.key,
    caller: request.callerId ?? null,
    keyHash: request.keyHash ?? null,
    sessionKey: request.sessionKey,
    requestId: request.requestId,
    index: resumed?.spec.index ?? index,
    id,
    name: name ?? tool.name,
    reservation: nameReservation(call),
    timeoutMs: async === null ? Math.min(timeoutMs, request.deadlineMs) : timeoutMs,
    mayWait,
    place: mayWait ? placeOf(call) : null,
    notify: resumed?.spec.notify ?? async?.notify ?? null,
    pending: describePending(request),
  };
};

const describePending = ({ resumed, batchId: handle }: BatchRequest): CallToDecide['pending'] => {
  if (resumed === undefined) return null;
  const { approval = null, grant: ticket = null } = resumed.spec;
  return { handle, approval, ticket };
};

const nameReservation = ({ recordKey, index, batch: { request } }: ReadyCall): string => {
  if (recordKey !== null) return toDigest(recordKey);
  const { idempotency, batchId } = request;
  return idempotency === null ? `${batchId}:${index}` : toDigest(`${idempotency.recordKey}\n${index}`);
};

/**
 * Settles what was reserved for a call that has ended, or been answered. A pending call takes it along: whoever runs it
 * settles it.
 */
export const settleGrant = (call: Call): Promise<void> | undefined => {
  const settled = settleOwn(call);
  const given = findGivenUp(call);
  if (given === null) return settled;
  const givenUp = call.batch.services.policies.giveUp(given);
  return settled === undefined ? givenUp : Promise.all([settled, givenUp]).then(() => undefined);
};

/** What is given back with a call that was to wait for a person, and was not accepted, or ended before anybody took it; null: nothing. */
const findGivenUp = (call: Call): GivenUp | null => {
  const { asked, state, batch } = call;
  const { resumed, tenant } = batch.request;
  if (asked !== null) {
    const isAccepted = (state.kind === 'pending' || state.kind === 'ended') && state.by === 'this_batch';
    return isAccepted ? null : { tenant, approval: asked, ticket: null, why: 'cancelled' };
  }
  // Most calls are no pending ones, or were decided when their turn came.
  if (resumed?.outcome?.kind !== 'failure' || resumed.outcome.failure.executed !== 'no') return null;
  const { approval = null, grant: ticket = null } = resumed.spec;
  if (approval === null && ticket === null) return null;
  const why = resumed.outcome.failure.code === 'approval_stale' ? 'stale' : 'cancelled';
  return { tenant, approval, ticket, why };
};

const settleOwn = (call: Call): Promise<void> | undefined => {
  const { ruling, state } = call;
  const grant = ruling?.grant ?? null;
  if (ruling === null || grant === null) return undefined;
  ruling.grant = null;
  if (state.kind === 'pending' || state.kind === 'ended')
    return state.by === 'this_batch' ? undefined : grant.settle('no', false);
  const { outcome, late } = call;
  void late?.then((end) => (end === null ? undefined : settleBy(ruling, grant, end)));
  return outcome === null ? grant.settle('maybe', false, true) : settleBy(ruling, grant, outcome);
};

const settleBy = (
  { hasBegun }: Ruling,
  grant: Grant,
  outcome: NonNullable<Call['outcome']>,
): Promise<void> | undefined =>
  outcome.kind === 'success'
    ? grant.settle(outcome.executed, true, hasBegun)
    : grant.settle(outcome.failure.executed, false, hasBegun);
