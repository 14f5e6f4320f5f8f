import { memberOf } from '../../contract/json-record.ts';
import type { ResultToKeep } from '../../executor/idempotency-store.ts';
import { type IdempotencyRecord, removeCall, STARTED, setCall } from './idempotency-kinds.ts';
import { parseObject } from './result-cap.ts';

// Which result of a call stands: that of its run, or what a check has found.

/** What a record holds of a call as its result; null: nothing, or the mark of a write alone. */
export const toResult = (text: string | undefined): string | null =>
  text === undefined || text === STARTED ? null : text;

/** Whether a try may put the result of a call into the record: what a check has found meanwhile stands. */
export const mayCommit = (record: IdempotencyRecord, { index, kind }: ResultToKeep, id: string): boolean => {
  if (kind === 'repeatable') return false;
  const existing = toResult(record.calls.get(index));
  if (existing === null) return true;
  return kind === 'final' && (record.committer === id || isUnknown(existing));
};

/** Puts a result in the place of a mark or of a result that is unknown, or takes that out. */
export const settleCall = (record: IdempotencyRecord, index: number, result: string | null): void => {
  const existing = record.calls.get(index);
  if (existing === undefined || (existing !== STARTED && !isUnknown(existing))) return;
  if (result === null) removeCall(record, index);
  else setCall(record, index, result);
};

/**
 * Whether a try may replace the result that it has committed. `unknown`: that result, where it says that nobody knows: a check may have
 * found more since, or another try may have run the call again, and then it is not there any more.
 */
export const mayAmend = (record: IdempotencyRecord, index: number, unknown: string | null): boolean => {
  const result = toResult(record.calls.get(index));
  return result !== null && (unknown === null || result === unknown);
};

const isUnknown = (result: string): boolean => memberOf(parseObject(result), 'outcome') === 'unknown';
