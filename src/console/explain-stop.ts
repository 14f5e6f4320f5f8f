import type { CallResult, RetryState } from './call-result.ts';

/** Whether a failed call may be tried again and what stops it, and what its retry budget has to do with that. */
export type Stop = { readonly verdict: string; readonly budget: string };

// None of these has to do with retries, also where the budget was asked: more of them would not help.
const STOPPED_BY: ReadonlyMap<string, string> = new Map([
  ['loop_detected', 'Stopped by the loop guard: the same call was made again and again.'],
  ['circuit_open', 'Stopped by the circuit breaker: the tool has been failing for everybody.'],
  ['call_limit_exceeded', 'Stopped by a limit of calls: the message says which.'],
  ['not_authorized', 'Stopped by the API key: it may not use this tool.'],
]);

// Retries are left, and all the same no other try is allowed: the outcome says why.
const ENDED_AS: ReadonlyMap<string, string> = new Map([
  ['failed', 'Not to be repeated: it would fail again.'],
  ['unknown', 'To be checked before another try: it may have happened.'],
  ['refused', 'Not run: the message says why.'],
]);

/** Names what stops a failed call: its retry budget, or what is not one. Null where there is nothing to say. */
export const explainStop = ({ code, outcome, retry }: CallResult): Stop | null => {
  const stopped = STOPPED_BY.get(code);
  if (retry === null) return stopped === undefined ? null : { verdict: stopped, budget: '' };
  const verdict = stopped ?? (isSpent(code, retry) ? undefined : ENDED_AS.get(outcome));
  if (verdict !== undefined)
    return { verdict, budget: `The retry budget is not what stops it: ${countsOf(retry)}, ${keptWhere(retry)}.` };
  return {
    verdict: `${retry.allowed ? 'Another try is allowed' : 'No other try is allowed'}: ${countsOf(retry)}.`,
    budget: `Limited by the ${retry.limitedBy}, ${keptWhere(retry)}.`,
  };
};

const isSpent = (code: string, { remaining }: RetryState): boolean =>
  remaining === 0 || code === 'retry_budget_exhausted';

const countsOf = ({ used, limit, remaining }: RetryState): string =>
  `${used} of ${limit} retries used, ${remaining} remaining`;

const keptWhere = ({ scope, mode }: RetryState): string => `kept for the ${scope} in ${mode}`;
