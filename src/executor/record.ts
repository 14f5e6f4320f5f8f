import { toPortableName } from '../contract/tool-names.ts';
import type { Warning } from '../contract/tool-result.ts';
import { toCanonicalText, toDigest } from '../json/canonical-text.ts';
import { parseJson } from '../json/parse-json.ts';
import { isSafe } from '../tools/tool.ts';
import { reattachCall, toWaitingTerms } from './accept-call.ts';
import type { IdempotencyKey } from './batch-request.ts';
import { type Batch, type Call, isReady, type ReadyCall } from './call.ts';
import { type CallOutcome, type Failure, failed, toFailure } from './call-outcome.ts';
import { echoName, notAuthorizedText, outcomeUnknownText } from './failure-text.ts';
import { type Kept, readHandle, readKept, setAccepted, toOutcome } from './kept-result.ts';
import type { EarlierCall, HeldRecord, KeyedBatch, RecordLease, ResultToKeep } from './keyed-store.ts';

const NOT_DURABLE: Warning = {
  code: 'idempotency_not_durable',
  message: 'The Idempotency-Key is stored only in this process and is lost when it ends.',
};
const NOT_KEPT: Warning = {
  code: 'idempotency_not_kept',
  message: 'The Idempotency-Key could not be stored: a repeat of this batch may run its calls again.',
};
const NOT_FOUND_AGAIN: Warning = {
  code: 'results_not_recorded',
  message: 'The results may not have been stored under the request id: asking for them there may not find them.',
};
const NOT_RECORDED: Warning = {
  code: 'idempotency_not_recorded',
  message: 'The results may not have been stored under the Idempotency-Key: a repeat may not return this answer.',
};

/**
 * Opens the record of the batch's key: of all that try at once, one gets to run it. Sets the answer where this batch is not
 * the one, the record where it is, and the outcomes that earlier tries left.
 */
export const openRecord = (batch: Batch): Promise<void> | undefined => {
  const { idempotency, resumed } = batch.request;
  if (resumed !== undefined) batch.record = resumed.record;
  return idempotency === null ? undefined : openKey(batch, idempotency);
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
  const opening = await byDeadline(batch, keys.open(toKeyedBatch(batch, idempotency)), UNAVAILABLE);
  switch (opening.kind) {
    case 'unavailable':
      observer.keyUsed('unavailable');
      batch.record = AWAY;
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
      await restoreCalls(batch, { earlier: toCommitted(opening.results), mayBePending: false });
      return;
    case 'held':
      observer.keyUsed(opening.record.earlier.size === 0 ? 'new' : 'resumed');
      batch.record = holdRecord(opening.record, batch);
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

const restoreCall = async (call: Call, earlier: EarlierCall | undefined, mayBePending: boolean): Promise<void> => {
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

const UNAVAILABLE = { kind: 'unavailable' } as const;

/** What a store answers that is given a second; the other where the batch has less. */
const byDeadline = <Answer, Late>(
  { cancellation }: Batch,
  answer: Promise<Answer>,
  late: Late,
): Promise<Answer | Late> =>
  new Promise((resolve, reject) => {
    const stop = cancellation.onCancel((cause) => {
      if (cause === 'deadline') resolve(late);
    });
    answer.finally(stop).then(resolve, reject);
  });

const AWAY: RecordLease = {
  state: 'away',
  start: async () => 'away',
  finish: async () => 'away',
  amend: async () => undefined,
  letGo: () => undefined,
};

const away = (): 'away' => 'away';

// A third of the lease: two renewals may get lost.
const RENEW_EVERY_MS = 1500;

// As long as an outage may last that a sweep of pending calls bridges as well.
const WITHDRAW_TRIES = 120;
const WITHDRAW_PAUSE_MS = 250;

/** Takes marks of calls that never ran out of the record, or their key would be told that nobody knows how they ended. */
const withdrawMarks = async (record: HeldRecord, marked: readonly ResultToKeep[]): Promise<void> => {
  for (let tries = 0; tries < WITHDRAW_TRIES; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, WITHDRAW_PAUSE_MS).unref());
    if ((await record.commit(marked).catch(away)) !== 'away') return;
  }
};

const holdRecord = (record: HeldRecord, batch: Batch): RecordLease => {
  const { calls } = batch;
  // A renewal that fails is not the last word: the next may not, and `start` and `finish` ask the record themselves.
  const timer = setInterval(() => void record.renew().catch(away), RENEW_EVERY_MS);
  timer.unref();
  let isFinished = false;
  // Calls that do not run because no answer said that they are marked: they may be.
  const unsure = new Set<number>();
  // By their tools' own names, whatever those were called by: rights go by the tool, also when it has gone and what another
  // name stood for cannot be found out any more.
  const toStored = (index: number, result: string): string => {
    const call = calls[index];
    return call !== undefined && isAlias(call) ? renameResult(result, call.tool.name) : result;
  };
  return {
    state: 'held',
    start: async (index) => {
      const state = await byDeadline(batch, record.start(index).catch(away), away());
      if (state === 'away') unsure.add(index);
      return state;
    },
    finish: (results) => {
      isFinished = true;
      const stored = results.map((one) => ({ ...one, result: toStored(one.index, one.result) }));
      const marked = stored.filter(({ index, kind }) => kind === 'repeatable' && unsure.delete(index));
      const committed = record.commit(stored).catch(away);
      if (marked.length > 0) void committed.then((state) => void (state === 'away' && withdrawMarks(record, marked)));
      // Where nothing ran, nothing is lost with an answer that comes too late: the caller need not wait for it.
      return stored.every(({ kind }) => kind === 'repeatable') ? byDeadline(batch, committed, 'held') : committed;
    },
    letGo: () => {
      clearInterval(timer);
      // Others need not wait for its lease to end; marks of writes that began stay.
      if (!isFinished) void record.commit([]).catch(away);
    },
    amend: (index, result) => record.amend(index, toStored(index, result)).catch(() => undefined),
  };
};

const isAlias = (call: Call): call is ReadyCall => isReady(call) && call.name !== call.tool.name;

/** 9 keeps the results before they are answered. Where that fails they say so. */
export const keepResults = (batch: Batch): Promise<void> | undefined => {
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
  const opening = await services.keys.open({ recordKey, requestKey, body, calls: calls.length });
  if (opening.kind !== 'held') {
    warn(calls, NOT_FOUND_AGAIN);
    return;
  }
  batch.record = holdRecord(opening.record, batch);
  await commitResults(batch, batch.record);
};

const commitResults = async (batch: Batch, record: RecordLease): Promise<void> => {
  const { calls, request, hasAccepted } = batch;
  const kinds = toResultKinds(calls);
  const own = calls.flatMap(({ index, result, isRecorded }, place): readonly ResultToKeep[] =>
    isRecorded ? [] : [{ index, result: result.json, kind: kinds[place] ?? 'final' }],
  );
  const state = hasAccepted ? await finishAccepted(record, own) : await record.finish(own);
  if (state === 'given_back') batch.isGivenBack = true;
  if (state === 'held' || state === 'given_back') return;
  warn(calls, (request.idempotency?.key ?? null) === null ? NOT_FOUND_AGAIN : NOT_RECORDED);
};

const warn = (calls: readonly Call[], warning: Warning): void => {
  for (const call of calls) {
    const { json, handle } = call.result;
    call.result = { json: withWarning(json, warning), handle, plainValueJson: null };
  }
};

// What was accepted runs whatever is answered, so its answer waits for a store that is back soon.
const FINISH_WITHIN_MS = 5000;
const FINISH_PAUSE_MS = 250;

/** Keeps the results of a batch with pending calls, also where its store is away for a few seconds. */
const finishAccepted = async (
  record: RecordLease,
  results: readonly ResultToKeep[],
): ReturnType<RecordLease['finish']> => {
  const until = performance.now() + FINISH_WITHIN_MS;
  for (;;) {
    const state = await record.finish(results);
    if (state !== 'away' || performance.now() >= until) return state;
    await new Promise((resolve) => setTimeout(resolve, FINISH_PAUSE_MS).unref());
  }
};

/** A result's text with one more warning: for the rare case that something is known only after it was made. */
const withWarning = (result: string, warning: Warning): string => {
  const parsed: { readonly warnings?: readonly Warning[] } = JSON.parse(result);
  return JSON.stringify({ ...parsed, warnings: [...(parsed.warnings ?? []), warning] });
};

/**
 * What makes two bodies the same for one key: session, order, on_error and, call by call, id, name and canonical
 * arguments. Deadlines do not count: a client that tries again may allow another one. Nor does what the service makes
 * of a call, for a tool may come, change or go between two tries: arguments count as they were sent, and names by the
 * portable form that a tool's own name and the one a provider knows it by have in common.
 */
const toBodyDigest = ({ request, calls }: Batch): string => {
  const content = calls.map(({ id, name, index }) => [
    id,
    name === null ? null : toPortableName(name),
    toSentArguments(request.calls[index]),
  ]);
  return toDigest(JSON.stringify([request.sessionKey, request.order, request.onError, content]));
};

const toSentArguments = (entry: unknown): string => {
  if (typeof entry !== 'object' || entry === null) return toCanonicalText(entry);
  const sent: unknown = Reflect.get(entry, 'arguments');
  if (sent === undefined || sent === null) return '{}';
  if (typeof sent !== 'string') return toCanonicalText(sent);
  if (sent.trim() === '') return '{}';
  const parsed = parseJson(sent);
  return parsed.ok ? toCanonicalText(parsed.value) : sent;
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

const NEVER_RAN: ReadonlySet<string> = new Set([
  'overloaded',
  'shutting_down',
  'store_unavailable',
  'circuit_open',
  'tool_unavailable',
  'cancelled',
  'tool_crashed',
]);

const isRepeatable = (ended: CallOutcome): boolean => {
  if (ended.kind === 'success') return false;
  const { code, executed, outcome } = ended.failure;
  return (executed === 'no' && NEVER_RAN.has(code)) || (code === 'cancelled' && outcome === 'retry');
};
