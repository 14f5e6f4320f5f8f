import { toPortableName } from '../contract/tool-names.ts';
import { isSafe } from '../tools/tool.ts';
import { reattachCall } from './accept-call.ts';
import type { Call } from './call.ts';
import { type Failure, failed, toFailure } from './call-outcome.ts';
import { echoName, notAuthorizedText, outcomeUnknownText } from './failure-text.ts';
import { type Kept, readHandle, readKept, setAccepted, toOutcome } from './kept-result.ts';
import type { EarlierCall } from './keyed-store.ts';

/** Sets what an earlier try left of a call; undefined: neither mark nor result. */
export const restoreCall = async (
  call: Call,
  earlier: EarlierCall | undefined,
  mayBePending: boolean,
): Promise<void> => {
  const { services, request } = call.batch;
  if (mayBePending && earlier?.state !== 'committed' && (await reattachCall(call))) return;
  if (earlier === undefined) return;
  restoreEarlier(call, earlier, request.mayUse);
  if (call.outcome !== null && call.storedResult === null && !call.isRecorded) services.observer.keyUsed('unknown');
  const handle = call.storedResult === null ? null : readHandle(call.storedResult);
  if (handle === null) return;
  // What was answered as pending is the call that it has become.
  const accepted = await services.pending.attach(request.tenant, handle);
  call.storedResult = null;
  call.outcome = null;
  if (accepted === null) endUnknown(call);
  else setAccepted(call, accepted, 'joined');
};

/** What of a call an earlier try decides on. */
export type RestoredCall = Pick<Call, 'kind' | 'name' | 'tool' | 'refusal' | 'outcome' | 'storedResult' | 'isRecorded'>;

/**
 * Ends a call whose earlier try is on record: by its kept result, marked as a replay, or as one of which nobody knows how it
 * ended. Leaves it open where it runs now: it is safe to repeat. Another key of the tenant may have sent that try: who may
 * not use the tool learns nothing of it, nor of the other tools of that key, and changes nothing in the record.
 */
export const restoreEarlier = (call: RestoredCall, earlier: EarlierCall, mayUse: MayUse): void => {
  const kept = earlier.state === 'committed' ? readKept(earlier.result) : null;
  const withheld = toWithheld(kept, call, mayUse);
  if (withheld !== null) withhold(call, withheld);
  // It ran: what cannot be read any more is no reason to run it again.
  else if (kept !== null && earlier.state === 'committed') restoreKept(call, earlier.result, kept);
  // Only writes are marked: where its tool has gone or may not be used any more it was one.
  else if (earlier.state === 'committed' || call.tool === null || call.kind !== 'ready' || !isSafe(call.tool))
    endUnknown(call);
};

type MayUse = (tool: string) => boolean;

/** Why who asks now may not see that outcome; null where it may. */
const toWithheld = (kept: Kept | null, call: RestoredCall, mayUse: MayUse): Failure | null => {
  if (call.kind === 'refused') return call.refusal?.code === 'not_authorized' ? call.refusal : null;
  if (mayUse(kept?.name ?? call.name ?? '')) return null;
  // Also the list of names that a wrong name is answered with is that of the key that sent it.
  if (call.kind === 'unknown_tool') return call.refusal;
  // Another tool gave it, that came to the same portable name.
  const isOthers = kept !== null && !TOOLLESS.has(kept.error?.code ?? '');
  return isOthers ? toFailure('not_authorized', notAuthorizedText(call.name ?? ''), call.tool) : null;
};

// Kept by a name that was asked for, and that no tool needs to have.
const TOOLLESS: ReadonlySet<string> = new Set(['unknown_tool', 'not_authorized']);

const withhold = (call: RestoredCall, failure: Failure): void => {
  call.outcome = failed(failure);
  call.isRecorded = true;
};

const endUnknown = (call: RestoredCall): void => {
  const tool = call.kind === 'ready' ? call.tool : null;
  call.outcome = failed(toFailure('outcome_unknown', outcomeUnknownText(call.name ?? 'a tool'), tool));
};

const restoreKept = (call: RestoredCall, result: string, kept: Kept): void => {
  const { name } = call;
  if (kept.error?.code === 'unknown_tool') {
    restoreWrongName(call, result, kept);
    return;
  }
  const isAlias = name !== null && name !== kept.name && toPortableName(name) === toPortableName(kept.name ?? '');
  replay(call, isAlias ? renameResult(result, name) : result, kept);
};

/** A result's text under another name. */
export const renameResult = (result: string, name: string): string => {
  const parsed: unknown = JSON.parse(result);
  return typeof parsed === 'object' && parsed !== null ? JSON.stringify({ ...parsed, name }) : result;
};

const replay = (call: RestoredCall, result: string, kept: Kept): void => {
  call.outcome = toOutcome(kept);
  call.isRecorded = true;
  call.storedResult = kept.replayed === true ? result : `${result.slice(0, -1)},"replayed":true}`;
};

/** A wrong name was told the tools of the key that sent it, which may be more than those of the key that asks now. */
const restoreWrongName = (call: RestoredCall, result: string, kept: Kept): void => {
  const { refusal } = call;
  if (call.kind !== 'unknown_tool' || refusal === null) {
    const nameless = { ...kept, message: unknownThenText(call.name ?? '') };
    replay(call, JSON.stringify(nameless), nameless);
  } else if (tellsNoMore(kept, refusal)) replay(call, result, kept);
  else withhold(call, refusal);
};

const tellsNoMore = ({ message }: Kept, failure: Failure): boolean => {
  const rest = message.slice(failure.message.length);
  // What may follow is about retries, and not the rest of a name with a dot in it.
  return message.startsWith(failure.message) && (rest === '' || rest.startsWith(' '));
};

const unknownThenText = (name: string): string =>
  `Unknown tool: ${echoName(name)}. It did not exist when this batch was first sent. Send the call in a new batch.`;
