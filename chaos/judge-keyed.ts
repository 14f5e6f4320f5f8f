import type { Accounts } from './accounts.ts';
import {
  type AnsweredAttempt,
  hasWarning,
  isAnswered,
  isUnrecorded,
  type KeyRecord,
  NOT_KEPT,
  NOT_RECORDED,
  type SeenResult,
} from './keyed-attempt.ts';

type Written = ReadonlyMap<string, number>;

/** Judges every attempt of every key, after every process has ended. `written`: lines of the ledger and how often. */
export const judgeKeyed = (records: readonly KeyRecord[], written: Written, accounts: Accounts): void => {
  for (const record of records) {
    judgeConflicts(record, accounts);
    for (const [index, call] of record.batch.calls.entries()) {
      judgeReplays(record, index, accounts);
      if (call?.line !== undefined) judgeWrite(record, index, written.get(call.line) ?? 0, accounts);
    }
  }
};

const tell = ({ batch, attempts }: KeyRecord, index: number): string => {
  const told = attempts.map(({ requestId, end }) => {
    if (end.kind !== 'answered') return `${requestId} ${end.kind}`;
    const { code = '?', executed = '?', isReplayed = false, warnings = [] } = end.results[index] ?? {};
    return `${requestId} ${code}/${executed}${isReplayed ? '/replayed' : ''} ${[...warnings].join('+')}`.trim();
  });
  return `${batch.key} call ${index}: ${told.join(', ')}`;
};

/** 1 never twice  2 what is said to have run ran  3 what is always said not to have run did not. */
const judgeWrite = (record: KeyRecord, index: number, times: number, accounts: Accounts): void => {
  const said = record.attempts.flatMap(({ end }) => (end.kind === 'answered' ? (end.results[index] ?? []) : []));
  const isAnyLost = record.attempts.some(({ end }) => end.kind === 'lost');
  const where = tell(record, index);
  for (const attempt of record.attempts.filter(isAnswered))
    if (hasWarning(attempt, NOT_KEPT) && attempt.end.results[index]?.executed !== 'no')
      accounts.offend('keyed_twice', `ran without a record: ${where}`);
  if (times > 1) accounts.offend('keyed_twice', `${times} times: ${where}`);
  if (times === 0 && said.some(({ executed }) => executed === 'yes')) accounts.offend('keyed_unwritten', where);
  if (times > 0 && !isAnyLost && said.every(({ executed }) => executed === 'no'))
    accounts.offend('keyed_no_written', where);
  accounts.add(`keyed writes at last ${toLast(said)}, ${times === 0 ? 'not written' : 'written'}`);
};

const toLast = (said: readonly SeenResult[]): string => {
  const last = said.at(-1);
  if (last === undefined) return 'never answered';
  return last.outcome === 'success' || last.code === 'outcome_unknown' ? last.code : `executed ${last.executed}`;
};

/** One answer's word on one call. */
type Known = { readonly attempt: AnsweredAttempt; readonly result: SeenResult };

/** Whoever asks after a final answer was seen gets that answer. */
const judgeReplays = (record: KeyRecord, index: number, accounts: Accounts): void => {
  let known: Known | null = null;
  for (const { attempt, result } of toSaid(record, index)) {
    if (known !== null) {
      accounts.add('keyed results asked for again');
      const problem = findProblem(known, result, attempt);
      if (problem !== null) accounts.offend('keyed_replay', `${problem}: ${tell(record, index)}`);
    }
    if (isFinal(attempt, result) && isOpenEnded(known?.result)) known = { attempt, result };
  }
};

/** What the answers said of a call, in the order in which they came. */
const toSaid = ({ attempts }: KeyRecord, index: number): readonly Known[] =>
  attempts
    .filter(isAnswered)
    .sort((one, other) => one.endedAt - other.endedAt)
    .flatMap((attempt) => {
      const result = attempt.end.results[index];
      return result === undefined ? [] : [{ attempt, result }];
    });

const findProblem = (
  { attempt: before, result: known }: Known,
  again: SeenResult,
  attempt: AnsweredAttempt,
): string | null => {
  // Sent before the other was answered; or safe calls run without a record, and of writes nothing.
  if (attempt.sentAt < before.endedAt || isUnrecorded(attempt)) return null;
  if (!again.isReplayed) return 'not marked as replayed';
  if (attempt.end.isReplayed && attempt.end.results.some(({ isReplayed }) => !isReplayed))
    return 'header without a mark';
  if (known.digest === again.digest || isOpenEnded(known)) return null;
  const isSameEnd = known.code === again.code && known.executed === again.executed && known.outcome === again.outcome;
  // Of a large result only its end is kept.
  return again.warnings.has('result_not_kept') && isSameEnd ? null : 'another result';
};

/** Nothing is known yet, or what its handler comes to after the answer may take its place. */
const isOpenEnded = (known: SeenResult | undefined): boolean =>
  known === undefined || known.executed === 'maybe' || known.code === 'timeout';

/** Whether the same key must give it again. */
const isFinal = (attempt: AnsweredAttempt, result: SeenResult): boolean => {
  if (isUnrecorded(attempt) || hasWarning(attempt, NOT_RECORDED) || isRepeatable(result)) return false;
  return result.code !== 'not_executed' || !attempt.end.results.some(isRepeatable);
};

const NEVER_RAN: ReadonlySet<string> = new Set([
  ...['overloaded', 'shutting_down', 'store_unavailable', 'circuit_open', 'tool_unavailable', 'cancelled'],
  // No process could be started for it.
  'tool_crashed',
]);

const isRepeatable = ({ code, executed, outcome }: SeenResult): boolean =>
  (executed === 'no' && NEVER_RAN.has(code)) || (code === 'cancelled' && outcome === 'retry');

/** Somebody must hold the record: another attempt that runs, or one that could not let it go. */
const judgeConflicts = (record: KeyRecord, accounts: Accounts): void => {
  for (const attempt of record.attempts) {
    if (attempt.end.kind !== 'conflict') continue;
    const isExplained = record.attempts.some(
      (other) =>
        other !== attempt &&
        other.sentAt < attempt.endedAt &&
        (other.endedAt > attempt.sentAt ||
          other.end.kind === 'lost' ||
          hasWarning(other, NOT_RECORDED) ||
          isUnrecorded(other)),
    );
    if (!isExplained) accounts.offend('keyed_conflict', `${attempt.requestId}, ${tell(record, 0)}`);
  }
};
