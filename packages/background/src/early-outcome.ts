import { type CallOutcome, failed, toFailure } from 'recourse-server/executor/call-outcome';
import type { PendingRecord } from './calls/call-kind.ts';

/** How often a call that is safe to repeat begins at most; then the tool itself is to blame. */
const MOST_BEGINS = 3;

/** How a call ends that does not run, because of what its record says, or its API key may not; null: it runs. */
export const decideEarlyOutcome = (
  { spec, begins, cancel }: PendingRecord,
  now: number,
  mayStart: 'yes' | 'no' | 'unknown',
): CallOutcome | null => {
  const { tool: name, effects } = spec;
  const tool = { effects };
  const unstarted = begins === 0 ? ({ executed: 'no', outcome: 'retry' } as const) : {};
  if (begins > 0 && effects === 'write') {
    const text = `Tool '${name}' was running when its worker died. It may or may not have taken effect. Check before calling it again.`;
    return failed(toFailure('outcome_unknown', text, tool));
  }
  if (cancel !== 'no') return failed(toFailure('cancelled', `The call to '${name}' was cancelled.`, tool, unstarted));
  if (begins >= MOST_BEGINS) {
    const text = `Tool '${name}' was started ${begins} times, and each time its worker died. Other arguments may help.`;
    return failed(toFailure('tool_crashed', text, tool));
  }
  if (now >= spec.expiresAt) {
    const text = `Tool '${name}' was not finished in the time that its call may take, including the time in the queue.`;
    return failed(toFailure('timeout', text, tool, unstarted));
  }
  return mayStart === 'no' ? explainRevoked(spec, begins) : null;
};

const explainRevoked = (
  { tool: name, effects, approval = null }: PendingRecord['spec'],
  begins: number,
): CallOutcome => {
  const text = `The API key that this call to '${name}' came with was removed, has expired, or may not use the tool any more, so the call did not start.`;
  if (approval !== null && begins === 0) return failed(toFailure('approval_stale', text, { effects }));
  // An earlier worker may have begun it.
  return failed(toFailure('not_authorized', text, { effects }, { executed: begins === 0 ? 'no' : 'maybe' }));
};
