import { findShortage } from '../tools/resource-shortage.ts';
import { isSafe, type Tool } from '../tools/tool.ts';
import { type CallOutcome, failed, toFailure } from './call-outcome.ts';
import type { RunOutcome } from './deadline.ts';
import { shortageText } from './failure-text.ts';
import { executedOf } from './outcome.ts';

// What is short is free again where something ends.
const SHORTAGE_RETRY_MS = 2000;

/**
 * A run that failed because the service itself ran out of descriptors, memory or processes; null where it did not. Asked of
 * what ran inside the service only: in a host the tool may have used up what its own process had.
 */
export const toShortage = (run: RunOutcome, tool: Tool): CallOutcome | null => {
  const what = run.kind === 'threw' ? findShortage(run.thrown) : null;
  if (run.kind !== 'threw' || what === null) return null;
  const isUndone = tool.effects === 'read' || executedOf(run.thrown) === 'no';
  const executed = isUndone ? 'no' : 'maybe';
  const started = isSafe(tool) ? 'retry' : 'unknown';
  return failed(
    toFailure('overloaded', shortageText(tool, what, executed), tool, {
      executed,
      outcome: isUndone ? 'refused' : started,
      retryAfterMs: SHORTAGE_RETRY_MS,
      thrown: run.thrown,
    }),
  );
};
