import { toPortableName } from '../contract/portable-name.ts';
import type { Warning } from '../contract/tool-result.ts';
import { toCanonicalText, toDigest } from '../json/canonical-text.ts';
import { parseJson } from '../json/parse-json.ts';
import type { IdempotencyKey } from './batch-request.ts';
import { type Batch, type Call, isReady, type ReadyCall } from './call.ts';
import { renameResult, restoreEarlier, toResultKinds } from './kept-result.ts';
import type { EarlierCall, HeldRecord, RecordLease, ResultToKeep } from './keyed-store.ts';

const NOT_DURABLE: Warning = {
  code: 'idempotency_not_durable',
  message: 'The Idempotency-Key is remembered only while this process lives.',
};
const NOT_KEPT: Warning = {
  code: 'idempotency_not_kept',
  message: 'The Idempotency-Key could not be kept: sending this batch again may run it again.',
};
const NOT_RECORDED: Warning = {
  code: 'idempotency_not_recorded',
  message: 'The result may not have been kept under the Idempotency-Key: a repeat may not give this answer again.',
};

/**
 * Opens the record of the batch's key: of all that try at once, one gets to run it. Sets the answer where this batch is not
 * the one, the record where it is, and the outcomes that earlier tries left.
 */
export const openRecord = (batch: Batch): Promise<void> | undefined =>
  batch.request.idempotency === null ? undefined : openKey(batch, batch.request.idempotency);

const openKey = async (batch: Batch, { recordKey, requestKey }: IdempotencyKey): Promise<void> => {
  const { calls, services } = batch;
  const { keys, observer } = services;
  const opening = await keys.open({ recordKey, requestKey, body: toBodyDigest(batch), calls: calls.length });
  switch (opening.kind) {
    case 'unavailable':
      observer.keyUsed('unavailable');
      batch.record = AWAY;
      batch.warnings = [NOT_KEPT];
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
      for (const [index, result] of opening.results.entries()) restore(calls[index], { state: 'committed', result });
      return;
    case 'held':
      observer.keyUsed(opening.record.earlier.size === 0 ? 'new' : 'resumed');
      batch.record = withToolNames(holdRecord(opening.record), calls);
      batch.warnings = keys.durability === 'process' ? [NOT_DURABLE] : [];
      for (const [index, earlier] of opening.record.earlier) restore(calls[index], earlier);
  }
};

const restore = (call: Call | undefined, earlier: EarlierCall): void => {
  if (call === undefined) return;
  restoreEarlier(call, earlier, call.batch.request.mayUse);
  const isUnknown = call.outcome !== null && call.storedResult === null && !call.withheld;
  if (isUnknown) call.batch.services.observer.keyUsed('unknown');
};

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

const holdRecord = (record: HeldRecord): RecordLease => {
  // A renewal that fails is not the last word: the next may not, and `start` and `finish` ask the record themselves.
  const timer = setInterval(() => void record.renew().catch(away), RENEW_EVERY_MS);
  timer.unref();
  let isFinished = false;
  return {
    state: 'held',
    start: (index) => record.start(index).catch(away),
    finish: (results) => {
      isFinished = true;
      return record.commit(results).catch(away);
    },
    letGo: () => {
      clearInterval(timer);
      // Nobody waits for its lease to end; marks of writes that began stay.
      if (!isFinished) void record.commit([]).catch(away);
    },
    amend: (index, result) => record.amend(index, result).catch(() => undefined),
  };
};

/**
 * Results are kept by their tools' own names, whatever those were called by: rights go by the tool, also when it has
 * gone and nobody can say any more what another name stood for.
 */
const withToolNames = (record: RecordLease, calls: readonly Call[]): RecordLease => {
  if (!calls.some(isAlias)) return record;
  const toKept = (index: number, result: string): string => {
    const call = calls[index];
    return call !== undefined && isAlias(call) ? renameResult(result, call.tool.name) : result;
  };
  return {
    ...record,
    finish: (results) => record.finish(results.map((kept) => ({ ...kept, result: toKept(kept.index, kept.result) }))),
    amend: (index, result) => record.amend(index, toKept(index, result)),
  };
};

const isAlias = (call: Call): call is ReadyCall => isReady(call) && call.name !== call.tool.name;

/** 9 keeps the results before they are answered. Where that fails they say so. */
export const keepResults = (batch: Batch): Promise<void> | undefined =>
  batch.record === null || batch.record.state === 'away' ? undefined : commitResults(batch, batch.record);

const commitResults = async ({ calls }: Batch, record: RecordLease): Promise<void> => {
  const kinds = toResultKinds(calls);
  const own = calls.flatMap(({ index, result, storedResult, withheld }): readonly ResultToKeep[] =>
    storedResult === null && !withheld ? [{ index, result, kind: kinds[index] ?? 'final' }] : [],
  );
  const state = await record.finish(own);
  if (state !== 'held') for (const call of calls) call.result = withWarning(call.result, NOT_RECORDED);
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
