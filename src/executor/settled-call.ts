import { FAILURE_POLICY } from '../contract/failure.ts';
import { toAskedCall } from './admit-batch.ts';
import type { BatchArguments } from './batch-arguments.ts';
import type { CallEnd } from './call-end.ts';
import { toTextPrint } from './call-print.ts';
import { toDigest, toMark } from './canonical-text.ts';
import type { NamedCall } from './find-obstacle.ts';
import { LazyMark } from './lazy-mark.ts';
import type { AnswerMark, CallEnding, SettledCall, Streak } from './session-store.ts';

// Reasons a model owns: the same call would end the same way. A timeout, a crash or an upstream may be better next time.
const OWNED_CODES: ReadonlySet<string> = new Set([
  'invalid_arguments',
  'retry_requested',
  'tool_exception',
  'tool_failed',
]);

/** How a call ended, as limits and loop guard count it. */
export const toSettledCall = (call: NamedCall, end: CallEnd, given: BatchArguments): SettledCall => {
  const ending = toEnding(end);
  const answer = end.kind === 'success' ? toAnswerMark(end) : null;
  const executed = end.kind === 'success' || end.failure.executed !== 'no';
  return { ...toAskedCall(call, given), ending, answer, executed };
};

/** What two equal answers have in common. */
export const toAnswerMark = ({ valueJson }: Extract<CallEnd, { kind: 'success' }>): AnswerMark =>
  new LazyMark(
    () => toTextPrint(valueJson),
    () => toMark(toDigest(valueJson)),
  );

/** Whether the answer that a streak remembers is this one. */
export const isSameAnswer = ({ answer }: Streak, end: Extract<CallEnd, { kind: 'success' }>): boolean => {
  const mark = toAnswerMark(end);
  return answer === (typeof answer === 'number' ? mark.print : mark.digest());
};

const toEnding = (end: CallEnd): CallEnding => {
  if (end.kind === 'success') return 'answered';
  const { code, executed } = end.failure;
  if (OWNED_CODES.has(code)) return 'failed';
  if (code === 'loop_detected') return 'looped';
  const isRefused = FAILURE_POLICY[code].outcome.safe === 'refused' || executed === 'no';
  return isRefused && FAILURE_POLICY[code].fault !== 'upstream' ? 'not_run' : 'other';
};
