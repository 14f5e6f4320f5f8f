import { toPortableName } from '../contract/tool-names.ts';
import { isSafe } from '../tools/tool.ts';
import { reattachCall } from './accept-call.ts';
import type { Call } from './call.ts';
import { type Failure, type FailureOutcome, failed, toFailure } from './call-outcome.ts';
import { echoName, notAuthorizedText, outcomeUnknownText } from './failure-text.ts';
import type { EarlierCall } from './idempotency-store.ts';
import { readHandle, readOutcome, readStoredResult, type StoredResult, withMembers } from './stored-result.ts';

/** Answers a call by what an earlier try left of it, if anything: `earlier` is its mark or its result. */
export const restoreCall = async (
  call: Call,
  earlier: EarlierCall | undefined,
  mayBePending: boolean,
): Promise<void> => {
  const { services, request } = call.batch;
  if (mayBePending && earlier?.state !== 'committed' && (await reattachCall(call))) return;
  const state = earlier === undefined ? null : decideEarlier(call, earlier, request.mayUse);
  if (state === null) return;
  if (state.kind === 'failure') services.observer.keyUsed('unknown');
  const handle = state.kind === 'failure' || state.result === null ? null : readHandle(state.result);
  if (handle === null) {
    call.state = state;
    return;
  }
  // What was answered as pending is the call that it has become.
  const accepted = await services.pending.attach(request.tenant, handle);
  if (accepted === null) call.state = { kind: 'replayed', outcome: explainUnknown(call), result: null };
  else call.accept(accepted, 'another_batch');
};

type RestoredCall = Pick<Call, 'kind' | 'name' | 'tool' | 'refusal'>;
type MayUse = (tool: string) => boolean;

/**
 * The state of a call of which an earlier try is on record; null: it runs now. Another key of the tenant may have sent that try,
 * so a caller that may not use the tool learns nothing of it, nor of the other tools of that key, and the record stays as it is.
 *
 * | the record holds             | the caller may use the tool                                     | it may not               |
 * |------------------------------|-----------------------------------------------------------------|--------------------------|
 * | a result                     | replayed                                                        | replayed, hidden         |
 * | the result of a wrong name   | replayed, hidden where it names tools that this caller is not told | replayed, hidden      |
 * | a result that is unreadable  | outcome_unknown: it ran                                         | replayed, hidden         |
 * | the mark of a write          | outcome_unknown                                                 | replayed, hidden         |
 * | the mark of what is safe now | null                                                            | replayed, hidden         |
 */
export const decideEarlier = (
  call: RestoredCall,
  earlier: EarlierCall,
  mayUse: MayUse,
): Extract<Call['state'], { kind: 'replayed' | 'failure' }> | null => {
  const stored = earlier.state === 'committed' ? readStoredResult(earlier.result) : null;
  const refusal = findHidingRefusal(stored, call, mayUse);
  if (refusal !== null) return { kind: 'replayed', outcome: failed(refusal), result: null };
  if (stored !== null && earlier.state === 'committed') return replay(call, earlier.result, stored);
  // Only writes are marked: a tool that has gone or may not be used any more was one.
  const isSafeNow = call.kind === 'ready' && call.tool !== null && isSafe(call.tool);
  return earlier.state === 'started' && isSafeNow ? null : explainUnknown(call);
};

const explainUnknown = ({ kind, tool, name }: RestoredCall): FailureOutcome =>
  failed(toFailure('outcome_unknown', outcomeUnknownText(name ?? 'a tool'), kind === 'ready' ? tool : null));

const onlyNotAuthorized = (refusal: Failure | null): Failure | null =>
  refusal?.code === 'not_authorized' ? refusal : null;

/** What the caller is answered in the place of an outcome that it may not see; null where it may. */
const findHidingRefusal = (stored: StoredResult | null, call: RestoredCall, mayUse: MayUse): Failure | null => {
  const { kind, refusal, tool } = call;
  if (kind === 'refused') return onlyNotAuthorized(refusal);
  const name = call.name ?? '';
  const isAllowed = mayUse(stored?.name ?? name);
  // Also the list of names that a wrong name is answered with is that of the key that sent it.
  if (kind === 'unknown_tool') return isAllowed && namesNoMore(stored, refusal) ? null : refusal;
  if (isAllowed || stored === null || isToolless(stored)) return null;
  // Another tool gave it, that came to the same portable name.
  return toFailure('not_authorized', notAuthorizedText(name), tool);
};

// Stored by a name that was asked for, and that no tool needs to have.
const isToolless = ({ error }: StoredResult): boolean =>
  error !== null && (error.code === 'unknown_tool' || error.code === 'not_authorized');

const replay = ({ name, kind, refusal }: RestoredCall, result: string, stored: StoredResult) => {
  const replayed = { kind: 'replayed', outcome: readOutcome(stored) } as const;
  const isWrongName = stored.error?.code === 'unknown_tool';
  // It was told the tools of the key that sent it, and now there is a tool of that name.
  if (isWrongName && (kind !== 'unknown_tool' || refusal === null)) {
    const nameless = { ...stored, message: unknownThenText(name ?? ''), replayed: true } as const;
    return { ...replayed, outcome: readOutcome(nameless), result: JSON.stringify(nameless) };
  }
  const isAlias = name !== null && name !== stored.name && toPortableName(name) === toPortableName(stored.name ?? '');
  const named = isAlias && !isWrongName ? withMembers(result, { name }) : result;
  return { ...replayed, result: stored.replayed === true ? named : `${named.slice(0, -1)},"replayed":true}` };
};

/** Whether the tools that a stored message lists, if any, are those that the caller is told now. */
const namesNoMore = (stored: StoredResult | null, refusal: Failure | null): boolean => {
  if (stored?.error?.code !== 'unknown_tool' || refusal === null) return true;
  const { message } = stored;
  const rest = message.slice(refusal.message.length);
  // What may follow is about retries, and not the rest of a name with a dot in it.
  return message.startsWith(refusal.message) && (rest === '' || rest.startsWith(' '));
};

const unknownThenText = (name: string): string =>
  `Unknown tool: ${echoName(name)}. It did not exist when this batch was first sent. Send the call in a new batch.`;
