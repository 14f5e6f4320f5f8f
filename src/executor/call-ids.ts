import { isSafe } from '../tools/tool.ts';
import { toWaitingTerms } from './accept-call.ts';
import type { CallKeyOf } from './batch-request.ts';
import { toCallDigest } from './body-digest.ts';
import { type Batch, type Call, isReady } from './call.ts';
import { type CallOutcome, toFailure } from './call-outcome.ts';
import { restoreCall } from './earlier-try.ts';
import * as text from './failure-text.ts';
import type { EarlierCall, Opening } from './idempotency-store.ts';
import {
  finishRecord,
  leaseRecord,
  NOT_DURABLE,
  NOT_RECORDED,
  observeOpening,
  toKind,
  untilDeadline,
  warn,
} from './record-lease.ts';

// `idempotency: "call_id"`: each write has a record of its own, by its session and its id, whichever batch brings it. It is
// held, marked, replayed and let go as the record of a batch is.

/** A call that has a record of its own. */
export type KeyedCall = Call & { readonly recordKey: string };

/**
 * Opens the records of the writes of a batch: of all requests that bring an id at once, one runs the call, and the others wait
 * for its result. Refuses writes whose id cannot be a key, or is that of another call.
 */
export const openCallRecords = async (batch: Batch, keyOf: CallKeyOf): Promise<void> => {
  const keyed = findKeyed(batch.calls, keyOf);
  await openInOrder(keyed.toSorted((one, other) => (one.recordKey < other.recordKey ? -1 : 1)));
  batch.isReplay = batch.calls.length > 0 && batch.calls.every(isReplayed);
  if (batch.services.keys.durability === 'process' && keyed.some(({ record }) => record !== null))
    batch.warnings = [...batch.warnings, NOT_DURABLE];
};

const isReplayed = ({ storedResult, isAccepted, original }: Call): boolean =>
  storedResult !== null || isAccepted || original !== null;

/** The writes of a batch whose ids are keys. Refuses those whose id cannot be one. */
export const findKeyed = (calls: readonly Call[], keyOf: CallKeyOf): readonly KeyedCall[] => {
  const keyed = new Map<string, KeyedCall>();
  for (const call of calls.filter(isKeyed)) {
    const recordKey = findRecordKey(call, keyOf);
    if (recordKey === null) refuse(call, text.noCallKeyText(call.name ?? ''));
    else if (keyed.has(recordKey)) refuse(call, text.reusedIdText(call.name ?? ''));
    else keyed.set(recordKey, Object.assign(call, { recordKey }));
  }
  return [...keyed.values()];
};

const findRecordKey = ({ id }: Call, keyOf: CallKeyOf): string | null =>
  typeof id === 'string' && id !== '' ? keyOf(id) : null;

const isKeyed = (call: Call): boolean => call.original === null && call.state.kind === 'open' && mayWrite(call);

// A tool that is not here now may have been at an earlier try, or is at another replica, and may write.
const mayWrite = (call: Call): boolean =>
  isReady(call) ? !isSafe(call.tool) : call.kind === 'unknown_tool' || call.missingTool !== null;

const refuse = (call: Call, message: string): void => {
  if (isReady(call)) call.fail(toFailure('invalid_call', message, call.tool));
};

/**
 * Opens all at once. Where one is in flight, those behind it in the order of keys are let go and opened again when it has
 * ended: two batches with the same calls never wait for each other.
 */
const openInOrder = async (calls: readonly KeyedCall[]): Promise<void> => {
  const openings = await Promise.all(calls.map(open));
  const busy = openings.findIndex(({ kind }) => kind === 'in_flight');
  const [ahead, behind] = busy < 0 ? [openings, []] : [openings.slice(0, busy), openings.slice(busy + 1)];
  await Promise.all([...ahead.map((opening, place) => apply(calls[place], opening)), ...behind.map(release)]);
  const call = calls[busy];
  if (call === undefined) return;
  await apply(call, (await untilOpen(call)) ?? openings[busy], 'joined');
  await openInOrder(calls.slice(busy + 1));
};

const open = (call: KeyedCall): Promise<Opening> => {
  const { batch, recordKey } = call;
  const promised = (batch.request.async ?? null) === null ? {} : ({ answer: 'promised' } as const);
  const keyed = { recordKey, requestKey: '', body: toCallDigest(call), calls: 1, ...promised };
  return untilDeadline<Opening, Opening>(batch, batch.services.keys.open(keyed), { kind: 'unavailable' });
};

const release = async (opening: Opening): Promise<void> => {
  if (opening.kind === 'held') await opening.record.commit([]).catch(() => undefined);
};

// Most calls end soon; one that runs for long costs four looks a second.
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 250;

/** Waits for the end of a call that another request runs, or of that request; null: its batch or the store ends that first. */
const untilOpen = async (call: KeyedCall): Promise<Opening | null> => {
  const { cancellation, services } = call.batch;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (cancellation.causeAt(services.now()) !== null) return null;
    const opening = await open(call);
    // That it ran, or will, is known: an answer must not say that it did not.
    if (opening.kind === 'unavailable') return null;
    if (opening.kind !== 'in_flight') return opening;
  }
};

const apply = async (
  call: KeyedCall | undefined,
  opening: Opening | undefined,
  how: 'replayed' | 'joined' = 'replayed',
): Promise<void> => {
  if (call === undefined || opening === undefined) return;
  const { batch, tool } = call;
  const name = call.name ?? '';
  observeOpening(batch, opening, how);
  switch (opening.kind) {
    case 'unavailable':
      call.fail(toFailure('store_unavailable', text.IDEMPOTENCY_STORE_UNAVAILABLE_TEXT, tool));
      return;
    case 'in_flight':
      call.fail(toFailure('outcome_unknown', text.stillInFlightText(name), tool));
      return;
    case 'other_body':
      call.fail(toFailure('invalid_call', text.reusedIdText(name), tool));
      return;
    case 'complete':
      await restore(call, { state: 'committed', result: opening.results[0] ?? '' }, false);
      return;
    case 'held':
      call.record = leaseRecord(opening.record, batch, [call]);
      // Once it may be pending it runs in no request: a try that was frozen may accept it yet.
      if (opening.record.mayBePending) batch.async ??= toWaitingTerms(batch);
      await restore(call, opening.record.earlier.get(0), opening.record.mayBePending);
  }
};

/** Sets what an earlier try left of a call, in its place and in those of its copies. */
const restore = async (call: KeyedCall, earlier: EarlierCall | undefined, mayBePending: boolean): Promise<void> => {
  const { calls, hasDuplicates } = call.batch;
  const places = hasDuplicates ? calls.filter((one) => one === call || one.original === call) : [call];
  await Promise.all(places.map((one) => restoreCall(one, toPlaced(earlier, one.index), mayBePending)));
};

const toPlaced = (earlier: EarlierCall | undefined, index: number): EarlierCall | undefined =>
  earlier?.state === 'committed'
    ? { ...earlier, result: earlier.result.replace(/^\{"index":\d+,/, `{"index":${index},`) }
    : earlier;

/** Stores the results of the calls that have records of their own. Where that fails they say so. */
export const keepCallResults = async (batch: Batch): Promise<void> => {
  await Promise.all(
    batch.calls.map(async (call) => {
      if (call.record === null) return;
      const { index, result, outcome } = call;
      const kind = mayRunElsewhere(outcome) ? 'repeatable' : toKind(outcome, batch.request);
      const state = await finishRecord(batch, call.record, [{ index, result: result.json, kind }]);
      if (state !== 'held') warn([call], NOT_RECORDED);
    }),
  );
};

// What did not run because of another call of its batch, or for want of its tool, may come in another one.
const mayRunElsewhere = (outcome: CallOutcome | null): boolean =>
  outcome?.kind === 'failure' && ['not_executed', 'unknown_tool'].includes(outcome.failure.code);
