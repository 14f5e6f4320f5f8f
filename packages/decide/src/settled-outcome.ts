import { FAILURE_POLICY } from 'recourse-server/contract/failure';
import {
  type CallOutcome,
  type FailureOutcome,
  failed,
  type Reconciled,
  toFailure,
} from 'recourse-server/executor/call-outcome';
import type { Effect, UnknownFailure } from './effects/effect-kind.ts';

const UNSURE = 'It may or may not have taken effect. Check before calling it again.';
const SAFE = 'A check shows that it did not take effect. It is safe to call it again.';
const GOES_ON = 'A check goes on; ask again under the same key.';

/** What is kept of a failure of which nobody knows whether the write took effect. */
export const describeFailure = ({ failure }: FailureOutcome, hasSession: boolean): UnknownFailure => {
  const { code, message, type, fatal } = failure;
  return { code, message, type, isCharged: hasSession && !fatal && FAILURE_POLICY[code].charges === true };
};

/** The outcome of a write of which it was found out how it ended. */
export const createSettledOutcome = ({ end, failure, attempts, settledAt, openedAt }: Effect): CallOutcome | null => {
  if (end === null) return null;
  const reconciled: Reconciled = { by: end.by, attempts, after_ms: Math.max(0, Math.round(settledAt - openedAt)) };
  const { valueJson, message, problem, verdict } = end;
  if (verdict === 'happened') {
    const warnings = problem === null ? [] : [{ code: 'invalid_output', message: problem }];
    return { kind: 'success', executed: 'yes', valueJson, message, marks: [], warnings, reconciled };
  }
  const { code, message: why, type } = failure ?? DIED;
  const words = message === '' ? SAFE : `${SAFE} ${message}`;
  const told = toFailure(code, replaceUnsure(why, words), null, { type, outcome: 'retry', executed: 'no' });
  return { ...failed(told), reconciled };
};

/** Of a process that died over its write. */
export const DIED: UnknownFailure = {
  code: 'outcome_unknown',
  message: `An earlier attempt of this call started, and its outcome is unknown. ${UNSURE}`,
  type: 'outcome_unknown',
  isCharged: false,
};

/** The same failure, of a write that goes on being looked for. */
export const withCheckAhead = (outcome: FailureOutcome): FailureOutcome => {
  const { failure } = outcome;
  if (failure.message.includes(GOES_ON)) return outcome;
  return { ...outcome, failure: { ...failure, message: `${endSentence(failure.message)} ${GOES_ON}` } };
};

const replaceUnsure = (message: string, words: string): string =>
  message.includes(UNSURE) ? message.replace(UNSURE, words) : `${endSentence(message)} ${words}`;

const endSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
