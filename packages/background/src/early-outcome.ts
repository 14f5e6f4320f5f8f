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
  const tool = { effects: spec.effects };
  if (begins > 0 && spec.effects === 'write')
    return failed(toFailure('outcome_unknown', workerLostText(spec.tool), tool));
  if (cancel !== 'no') return failed(toFailure('cancelled', cancelledText(spec.tool), tool, toUnstarted(begins)));
  if (begins >= MOST_BEGINS) return failed(toFailure('tool_crashed', crashedAgainText(spec.tool, begins), tool));
  if (now >= spec.expiresAt) return failed(toFailure('timeout', expiredText(spec.tool), tool, toUnstarted(begins)));
  if (mayStart !== 'no') return null;
  // An earlier worker may have begun it.
  const executed = begins === 0 ? 'no' : 'maybe';
  return failed(toFailure('not_authorized', keyRefusedText(spec.tool), tool, { executed }));
};

const toUnstarted = (begins: number) => (begins === 0 ? ({ executed: 'no', outcome: 'retry' } as const) : {});

const workerLostText = (name: string): string =>
  `Tool '${name}' was running when its worker died. It may or may not have taken effect. Check before calling it again.`;

const cancelledText = (name: string): string => `The call to '${name}' was cancelled.`;

const crashedAgainText = (name: string, times: number): string =>
  `Tool '${name}' was started ${times} times, and each time its worker died. Other arguments may help.`;

const keyRefusedText = (name: string): string =>
  `The API key that this call to '${name}' came with was removed, has expired, or may not use the tool any more, so the call did not start.`;

const expiredText = (name: string): string =>
  `Tool '${name}' was not finished in the time that its call may take, including the time in the queue.`;
