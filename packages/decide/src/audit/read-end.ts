import type { CallOutcome } from 'recourse-server/executor/call-outcome';

/** How a call ended, as its result says it. */
export const readEnd = (outcome: CallOutcome | null) => {
  if (outcome === null) return { outcome: 'failed', executed: 'maybe', code: 'internal_error' } as const;
  if (outcome.kind === 'success') return { outcome: 'success', executed: outcome.executed, code: null } as const;
  const { outcome: ended, executed, code } = outcome.failure;
  return { outcome: ended, executed, code } as const;
};
