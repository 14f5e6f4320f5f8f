import type { Warning } from '../contract/tool-result.ts';
import { toWaitingTerms } from './accept-call.ts';
import type { IdempotencyKey } from './batch-request.ts';
import { toBodyDigest } from './body-digest.ts';
import type { Batch, Call } from './call.ts';
import { keepCallResults, openCallRecords } from './call-ids.ts';
import { restoreCall } from './earlier-try.ts';
import type { LeasedRecord, RecordLease, ResultToKeep } from './idempotency-store.ts';
import {
  AWAY,
  BEYOND_DEADLINE_MS,
  finishRecord,
  isRepeatable,
  leaseRecord,
  NOT_DURABLE,
  NOT_RECORDED,
  observeOpening,
  toKind,
  untilDeadline,
  warn,
} from './record-lease.ts';

const NOT_STORED: Warning = {
  code: 'idempotency_not_kept',
  message: 'The Idempotency-Key could not be stored: a repeat of this batch may run its calls again.',
};
const NOT_FOUND_AGAIN: Warning = {
  code: 'results_not_recorded',
  message: 'The results may not have been stored under the request id: asking for them there may not find them.',
};

const UNAVAILABLE = { kind: 'unavailable' } as const;

/**
 * 2 opens the record of the batch's key: of all that try at once, one gets to run it. Sets the answer where this batch is not
 * the one, the record where it is, and what earlier tries left of the calls.
 */
export const openRecord = (batch: Batch): Promise<void> | undefined => {
  const { idempotency, resumed, callKeyOf = null } = batch.request;
  if (resumed !== undefined) batch.record = resumed.record;
  const opened = idempotency === null ? undefined : openKey(batch, idempotency);
  if (callKeyOf === null) return opened;
  // Behind that of the request, which may have all results.
  return Promise.resolve(opened).then(() =>
    batch.answer === null && !batch.isReplay ? openCallRecords(batch, callKeyOf) : undefined,
  );
};

const openKey = async (batch: Batch, { key, recordKey, requestKey }: IdempotencyKey): Promise<void> => {
  const { services, request, calls } = batch;
  const promised = (request.async ?? null) === null ? {} : ({ answer: 'promised' } as const);
  const keyed = { recordKey, requestKey, body: toBodyDigest(batch), calls: calls.length, ...promised };
  const opening = await untilDeadline(batch, services.keys.open(keyed), UNAVAILABLE);
  observeOpening(batch, opening, 'replayed');
  switch (opening.kind) {
    case 'unavailable':
      batch.record = AWAY;
      batch.isFound = false;
      // Without a key the request id is what its results would be found under.
      batch.warnings = [key === null ? NOT_FOUND_AGAIN : NOT_STORED];
      return;
    case 'in_flight':
    case 'other_body':
      batch.answer = opening;
      return;
    case 'complete':
      batch.isReplay = true;
      batch.isFound = opening.isFound;
      batch.earlier = new Map(opening.results.map((result, index) => [index, { state: 'committed', result }]));
      await restoreCalls(batch, false);
      return;
    case 'held':
      await useRecord(batch, opening.record, key);
  }
};

const useRecord = async (batch: Batch, record: LeasedRecord, key: string | null): Promise<void> => {
  batch.record = leaseRecord(record, batch, batch.calls);
  batch.earlier = record.earlier;
  // Of a batch without a key its pending results say so themselves.
  if (batch.services.keys.durability === 'process' && key !== null) batch.warnings = [NOT_DURABLE];
  // Once its calls may be pending they run in no request: a try that was frozen may accept them yet.
  if (record.mayBePending) batch.async ??= toWaitingTerms(batch);
  await restoreCalls(batch, record.mayBePending);
};

const restoreCalls = async ({ calls, earlier }: Batch, mayBePending: boolean): Promise<void> => {
  if (earlier.size === 0 && !mayBePending) return;
  await Promise.all(calls.map((call) => restoreCall(call, earlier.get(call.index), mayBePending)));
};

/** 9 stores the results before they are answered. Where that fails they say so. */
export const keepResults = (batch: Batch): Promise<unknown> | undefined => {
  const { record, request } = batch;
  const ofBatch = record === null ? keepUnderRequest(batch) : commitResults(batch, record);
  return (request.callKeyOf ?? null) === null ? ofBatch : Promise.all([ofBatch, keepCallResults(batch)]);
};

/** A batch that asked for no pending calls has joined one: its caller asks for the result under the id of its own request. */
const keepUnderRequest = (batch: Batch): Promise<void> | undefined => {
  const { pendingRecord } = batch.request;
  const mayKeep = pendingRecord !== undefined && batch.calls.some(({ state }) => state.kind === 'pending');
  return mayKeep ? openUnderRequest(batch, pendingRecord()) : undefined;
};

const openUnderRequest = async (batch: Batch, { recordKey, requestKey }: IdempotencyKey): Promise<void> => {
  const { calls, services } = batch;
  const opened = services.keys.open({ recordKey, requestKey, body: toBodyDigest(batch), calls: calls.length });
  const opening = await untilDeadline(batch, opened, UNAVAILABLE, BEYOND_DEADLINE_MS);
  if (opening.kind !== 'held') {
    batch.isFound = false;
    warn(calls, NOT_FOUND_AGAIN);
    return;
  }
  batch.record = leaseRecord(opening.record, batch, calls);
  await commitResults(batch, batch.record);
};

const commitResults = (batch: Batch, record: RecordLease): Promise<void> | undefined =>
  record.state === 'away' ? undefined : commitLeased(batch, record);

const commitLeased = async (batch: Batch, record: RecordLease): Promise<void> => {
  const { calls, request } = batch;
  const state = await finishRecord(batch, record, listNewResults(batch));
  if (state === 'given_back') batch.isGivenBack = true;
  if (state === 'held' || state === 'given_back') return;
  // Where its answer was promised, what it names is there since the batch began, and leads to the calls that it has accepted.
  const lost = batch.async === null ? calls : calls.filter((call) => !hasPlace(call));
  if (state !== 'lost') batch.isFound = lost.length < calls.length;
  warn(lost, (request.idempotency?.key ?? null) === null ? NOT_FOUND_AGAIN : NOT_RECORDED);
};

/** Whether its batch has accepted the call in its own place, and not joined another one, nor in that of its id. */
const hasPlace = ({ state, isAccepted, recordKey }: Call): boolean =>
  isAccepted && 'by' in state && state.by === 'this_batch' && recordKey === null;

/**
 * The results that the record does not hold yet. One that is hidden from this caller changes nothing in the record. What was not
 * run because another call failed is as repeatable as that one.
 */
export const listNewResults = ({
  calls,
  earlier,
  request,
}: Pick<Batch, 'calls' | 'earlier' | 'request'>): readonly ResultToKeep[] => {
  const anyRepeatable = calls.some(({ outcome }) => isRepeatable(outcome));
  const fresh = calls.filter(
    ({ index, state }) =>
      earlier.get(index)?.state !== 'committed' && !(state.kind === 'replayed' && state.result === null),
  );
  return fresh.map(({ index, result, outcome }) => {
    const follows = anyRepeatable && outcome?.kind === 'failure' && outcome.failure.code === 'not_executed';
    return { index, result: result.json, kind: follows ? 'repeatable' : toKind(outcome, request) };
  });
};

/** Releases all records of a batch that is answered. */
export const releaseRecords = ({ record, calls, request }: Batch): void => {
  record?.release();
  if ((request.callKeyOf ?? null) !== null) for (const call of calls) call.record?.release();
};
