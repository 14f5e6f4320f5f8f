import type { Warning } from '../contract/tool-result.ts';
import { toWaitingTerms } from './accept-call.ts';
import type { CallKeyOf, IdempotencyKey } from './batch-request.ts';
import { toBodyDigest } from './body-digest.ts';
import type { Batch, Call } from './call.ts';
import { keepCallResults, openCallRecords } from './call-ids.ts';
import { warn } from './kept-result.ts';
import type { HeldRecord, KeyedBatch, RecordLease, ResultToKeep } from './keyed-store.ts';
import {
  AWAY,
  byDeadline,
  finishRecord,
  holdRecord,
  isRepeatable,
  NOT_DURABLE,
  NOT_RECORDED,
  soonAfterDeadline,
} from './record-lease.ts';
import { restoreCall } from './restore-earlier.ts';

const NOT_KEPT: Warning = {
  code: 'idempotency_not_kept',
  message: 'The Idempotency-Key could not be stored: a repeat of this batch may run its calls again.',
};
const NOT_FOUND_AGAIN: Warning = {
  code: 'results_not_recorded',
  message: 'The results may not have been stored under the request id: asking for them there may not find them.',
};

/**
 * Opens the record of the batch's key: of all that try at once, one gets to run it. Sets the answer where this batch is not
 * the one, the record where it is, and the outcomes that earlier tries left.
 */
export const openRecord = (batch: Batch): Promise<void> | undefined => {
  const { idempotency, resumed, callKeyOf = null } = batch.request;
  if (resumed !== undefined) batch.record = resumed.record;
  const opened = idempotency === null ? undefined : openKey(batch, idempotency);
  return callKeyOf === null ? opened : openIds(batch, callKeyOf, opened);
};

/** Behind that of the request, which may have all results. */
const openIds = async (batch: Batch, keyOf: CallKeyOf, opened: Promise<void> | undefined): Promise<void> => {
  await opened;
  if (batch.answer === null && !batch.isReplay) await openCallRecords(batch, keyOf);
};

const toKeyedBatch = (batch: Batch, { recordKey, requestKey }: IdempotencyKey): KeyedBatch => ({
  recordKey,
  requestKey,
  body: toBodyDigest(batch),
  calls: batch.calls.length,
  ...((batch.request.async ?? null) === null ? {} : { answer: 'promised' }),
});

// Without a key the request id is what its results would be found under.
const toAwayWarning = ({ key }: IdempotencyKey): Warning => (key === null ? NOT_FOUND_AGAIN : NOT_KEPT);

const openKey = async (batch: Batch, idempotency: IdempotencyKey): Promise<void> => {
  const { keys, observer } = batch.services;
  const opening = await byDeadline(batch, keys.open(toKeyedBatch(batch, idempotency)), {
    kind: 'unavailable',
  } as const);
  switch (opening.kind) {
    case 'unavailable':
      observer.keyUsed('unavailable');
      batch.record = AWAY;
      batch.isFound = false;
      batch.warnings = [toAwayWarning(idempotency)];
      return;
    case 'in_flight':
      observer.keyUsed('conflict');
      batch.answer = opening;
      return;
    case 'other_body':
      observer.keyUsed('mismatch');
      batch.answer = opening;
      return;
    case 'complete':
      observer.keyUsed('replayed');
      batch.isReplay = true;
      batch.isFound = opening.isFound;
      await restoreCalls(batch, { earlier: toCommitted(opening.results), mayBePending: false });
      return;
    case 'held':
      observer.keyUsed(opening.record.earlier.size === 0 ? 'new' : 'resumed');
      batch.record = holdRecord(opening.record, batch, batch.calls);
      // Of a batch without a key its pending results say so themselves.
      batch.warnings = keys.durability === 'process' && batch.request.idempotency?.key !== null ? [NOT_DURABLE] : [];
      // Once its calls may be pending they run in no request: a try that was frozen may accept them yet.
      if (opening.record.mayBePending) batch.async ??= toWaitingTerms(batch);
      await restoreCalls(batch, opening.record);
  }
};

const toCommitted = (results: readonly string[]): HeldRecord['earlier'] =>
  new Map(results.map((result, index) => [index, { state: 'committed', result }]));

/** What earlier tries left of the calls. */
type Earlier = Pick<HeldRecord, 'earlier' | 'mayBePending'>;

const restoreCalls = async ({ calls }: Batch, { earlier, mayBePending }: Earlier): Promise<void> => {
  if (earlier.size === 0 && !mayBePending) return;
  await Promise.all(calls.map((call) => restoreCall(call, earlier.get(call.index), mayBePending)));
};

/** 9 keeps the results before they are answered. Where that fails they say so. */
export const keepResults = (batch: Batch): Promise<unknown> | undefined => {
  const kept = keepBatchResults(batch);
  return (batch.request.callKeyOf ?? null) === null ? kept : Promise.all([kept, keepCallResults(batch)]);
};

const keepBatchResults = (batch: Batch): Promise<void> | undefined => {
  const { record, calls, request } = batch;
  if (record !== null) return record.state === 'away' ? undefined : commitResults(batch, record);
  const { pendingRecord } = request;
  if (pendingRecord === undefined || !calls.some(({ acceptedState }) => acceptedState?.kind === 'pending'))
    return undefined;
  return keepUnderRequest(batch, pendingRecord());
};

/** A batch that asked for no pending calls has joined one: its caller asks for the result under the id of its own request. */
const keepUnderRequest = async (batch: Batch, { recordKey, requestKey }: IdempotencyKey): Promise<void> => {
  const { calls, services } = batch;
  const body = toBodyDigest(batch);
  const opened = services.keys.open({ recordKey, requestKey, body, calls: calls.length });
  const opening = await soonAfterDeadline(batch, opened, { kind: 'unavailable' } as const);
  if (opening.kind !== 'held') {
    batch.isFound = false;
    warn(calls, NOT_FOUND_AGAIN);
    return;
  }
  batch.record = holdRecord(opening.record, batch, calls);
  await commitResults(batch, batch.record);
};

const commitResults = async (batch: Batch, record: RecordLease): Promise<void> => {
  const { calls, request } = batch;
  const kinds = toResultKinds(calls);
  const own = calls.flatMap(({ index, result, isRecorded }, place): readonly ResultToKeep[] =>
    isRecorded ? [] : [{ index, result: result.json, kind: kinds[place] ?? 'final' }],
  );
  const state = await finishRecord(batch, record, own);
  if (state === 'given_back') batch.isGivenBack = true;
  if (state === 'held' || state === 'given_back') return;
  // Where its answer was promised, what it names is there since the batch began, and leads to the calls that it has accepted.
  const lost = batch.async === null ? calls : calls.filter((call) => !hasPlace(call));
  if (state !== 'lost') batch.isFound = lost.length < calls.length;
  warn(lost, (request.idempotency?.key ?? null) === null ? NOT_FOUND_AGAIN : NOT_RECORDED);
};

/** Whether its batch has accepted the call in its own place, and not joined another one, nor in that of its id. */
const hasPlace = ({ accepted, isJoined, recordKey }: Call): boolean =>
  accepted !== null && !isJoined && recordKey === null;

/** Lets go of all records of a batch that is answered. */
export const letGoRecords = ({ record, calls, request }: Batch): void => {
  record?.letGo();
  if ((request.callKeyOf ?? null) !== null) for (const call of calls) call.record?.letGo();
};

/**
 * Whether the same key may run the call again: only where it never ran, and not by its own fault, or where it is safe
 * and was cut off because its caller had gone, who comes back with this key. What was not run because such a call
 * failed is as open as that one.
 */
export const toResultKinds = (calls: readonly Call[]): readonly ResultToKeep['kind'][] => {
  const repeatable = calls.map(({ outcome }) => outcome !== null && isRepeatable(outcome));
  const anyOpen = repeatable.includes(true);
  return calls.map(({ outcome }, place) => {
    const follows = outcome?.kind === 'failure' && outcome.failure.code === 'not_executed' && anyOpen;
    return repeatable[place] === true || follows ? 'repeatable' : 'final';
  });
};
