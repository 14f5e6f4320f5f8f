import { expect, test } from 'vitest';
import { explainStop } from '#src/page/explain-stop.ts';

const LEFT = {
  ...{ allowed: false, limit: 3, used: 1, remaining: 2 },
  ...({ limited_by: 'tool', scope: 'session', mode: 'redis' } as const),
};
const SPENT = { ...LEFT, used: 3, remaining: 0 };

type Stopped = Parameters<typeof explainStop>[0];
type Code = NonNullable<Stopped['error']>['code'];

const explain = (code: Code | null, outcome: Stopped['outcome'], retry: Stopped['retry']) =>
  explainStop({ outcome, error: code === null ? null : { code }, retry });

const NOT_STOPPED_BY_IT =
  'Not stopped by the retry budget: 1 of 3 retries used, 2 remaining, stored per session in redis.';

test.each([
  ['loop_detected', LEFT, 'Stopped by the loop guard: the same call was repeated.', NOT_STOPPED_BY_IT],
  ['call_limit_exceeded', LEFT, 'Stopped by a call limit: the message names it.', NOT_STOPPED_BY_IT],
  ['call_limit_exceeded', null, 'Stopped by a call limit: the message names it.', ''],
  [
    'circuit_open',
    null,
    'Stopped by the circuit breaker: the tool is temporarily disabled after repeated failures.',
    '',
  ],
  ['not_authorized', null, 'Stopped by the API key: it may not use this tool.', ''],
  ['cancelled', LEFT, 'Not executed: the message says why.', NOT_STOPPED_BY_IT],
] as const)('%s is not said to be stopped by the retry budget (%#)', (code, retry, verdict, budget) => {
  expect(explain(code, 'refused', retry)).toEqual([verdict, budget]);
});

test('a failure that is final, and one that may have happened, are told from a budget that is used up', () => {
  expect(explain('tool_failed', 'failed', LEFT)).toEqual(['Do not repeat it: it would fail again.', NOT_STOPPED_BY_IT]);
  expect(explain('timeout', 'unknown', LEFT)).toEqual([
    'Check before another attempt: it may have taken effect.',
    NOT_STOPPED_BY_IT,
  ]);
});

test('where the retry budget decides, it is named', () => {
  const budget = 'Limited by the tool, stored per session in redis.';
  const used = ['No further attempt is allowed: 3 of 3 retries used, 0 remaining.', budget];
  expect(explain('retry_budget_exhausted', 'refused', SPENT)).toEqual(used);
  expect(explain('tool_exception', 'retry', SPENT)).toEqual(used);
  expect(explain('timeout', 'unknown', SPENT)).toEqual(used);
  expect(explain('retry_budget_exhausted', 'refused', LEFT)).toEqual([
    'No further attempt is allowed: 1 of 3 retries used, 2 remaining.',
    budget,
  ]);
  expect(explain('tool_exception', 'retry', { ...LEFT, allowed: true })).toEqual([
    'Another attempt is allowed: 1 of 3 retries used, 2 remaining.',
    budget,
  ]);
});

test('where no budget was asked and nothing else stops the call, nothing is said', () => {
  expect(explain(null, 'success', null)).toBe(null);
  expect(explain('invalid_call', 'retry', null)).toBe(null);
});
