import type { components } from '../../../../clients/typescript/src/generated/api.ts';

type ToolResult = components['schemas']['ToolResult'];

// None of these has to do with retries, also where the budget was asked: more of them would not help.
const STOPPED_BY: Partial<Record<NonNullable<ToolResult['error']>['code'], string>> = {
  loop_detected: 'Stopped by the loop guard: the same call was repeated.',
  circuit_open: 'Stopped by the circuit breaker: the tool is temporarily disabled after repeated failures.',
  call_limit_exceeded: 'Stopped by a call limit: the message names it.',
  not_authorized: 'Stopped by the API key: it may not use this tool.',
};

// Retries are left, and all the same no other try is allowed: the outcome says why.
const ENDED_AS: Partial<Record<ToolResult['outcome'], string>> = {
  failed: 'Do not repeat it: it would fail again.',
  unknown: 'Check before another attempt: it may have taken effect.',
  refused: 'Not executed: the message says why.',
};

type Ended = Pick<ToolResult, 'outcome'> & {
  readonly error: Pick<NonNullable<ToolResult['error']>, 'code'> | null;
  readonly retry: components['schemas']['RetryState'] | null;
};

/**
 * Says what stops a failed call, and what its retry budget has to do with that: it is the budget, or something else. Null
 * where there is nothing to say.
 */
export const explainStop = ({ outcome, error, retry }: Ended): readonly [string, string] | null => {
  const stopped = error === null ? undefined : STOPPED_BY[error.code];
  if (retry === null) return stopped === undefined ? null : [stopped, ''];
  const { used, limit, remaining, scope, mode } = retry;
  const counts = `${used} of ${limit} retries used, ${remaining} remaining`;
  const where = `stored per ${scope} in ${mode}`;
  const isSpent = remaining === 0 || error?.code === 'retry_budget_exhausted';
  const verdict = stopped ?? (isSpent ? undefined : ENDED_AS[outcome]);
  if (verdict !== undefined) return [verdict, `Not stopped by the retry budget: ${counts}, ${where}.`];
  const allowed = retry.allowed ? 'Another attempt is allowed' : 'No further attempt is allowed';
  return [`${allowed}: ${counts}.`, `Limited by the ${retry.limited_by}, ${where}.`];
};
