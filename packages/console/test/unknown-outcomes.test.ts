import { expect, test } from 'vitest';
import {
  buildVerdict,
  explainState,
  findMistake,
  isOpen,
  type Outcomes,
  takeList,
  type UnknownCall,
} from '#src/page/unknown-outcomes.ts';

const createCall = (minute: number, change: Partial<UnknownCall> = {}): UnknownCall => ({
  ...{ request_id: 'r', index: 0, id: 'c', tool: 'pay', effect_id: `e_${minute}`, arguments: '{}', state: 'open' },
  ...{ verdict: null, by: null, code: 'timeout', since: `2026-11-29T03:${minute}:00.000Z`, attempts: 1 },
  ...{ next_look_at: null, run_may_act_until: null, fence: 1, ...change },
});

const openOf = (outcomes: Outcomes): readonly string[] =>
  [...outcomes.values()].filter(isOpen).map(({ call }) => call.effect_id);

test('a write keeps its place when it is not listed any more, and when it is unknown again', () => {
  const outcomes: Outcomes = new Map();
  takeList(outcomes, { calls: [createCall(10), createCall(11)], total: 2 });
  takeList(outcomes, { calls: [createCall(11), createCall(12)], total: 2 });
  expect([...outcomes.keys()]).toEqual(['e_10', 'e_11', 'e_12']);
  expect(openOf(outcomes)).toEqual(['e_11', 'e_12']);
  expect([...outcomes.values()].map(explainState)).toEqual([
    'no longer listed: it is known how it ended, or 24 hours have passed',
    'unknown',
    'unknown',
  ]);
  takeList(outcomes, { calls: [createCall(11), createCall(12), createCall(10, { since: null, fence: 3 })], total: 3 });
  expect([...outcomes.keys()]).toEqual(['e_10', 'e_11', 'e_12']);
  expect(outcomes.get('e_10')).toMatchObject({ isListed: true, call: { fence: 3 } });
});

test('of what lies behind the end of a list that is cut nothing is said', () => {
  const outcomes: Outcomes = new Map();
  takeList(outcomes, { calls: [createCall(10), createCall(12), createCall(13)], total: 3 });
  takeList(outcomes, { calls: [createCall(11), createCall(12)], total: 3 });
  expect(openOf(outcomes)).toEqual(['e_12', 'e_13', 'e_11']);
  takeList(outcomes, { calls: [], total: 0 });
  expect(openOf(outcomes)).toEqual([]);
});

test('a page that is left open for days begins anew', () => {
  const outcomes: Outcomes = new Map();
  for (let from = 0; from < 600; from += 100) {
    const calls = Array.from({ length: 100 }, (_, index) => createCall(from + index));
    takeList(outcomes, { calls, total: 100 });
  }
  takeList(outcomes, { calls: [createCall(700)], total: 1 });
  expect([...outcomes.keys()]).toEqual(['e_700']);
});

test('a verdict has a reason, a value that is JSON, and the fence that was read', () => {
  expect(findMistake({ value: '{"a":', reason: 'seen' })).toContain('not JSON');
  expect(findMistake({ value: ' ', reason: ' \n' })).toContain('A reason is required');
  expect(findMistake({ reason: 'x'.repeat(501) })).toContain('at most 500 characters');
  expect(findMistake({ value: 'null', reason: 'seen' })).toBe('');
  expect(buildVerdict(createCall(10, { fence: 7 }), 'did_not_happen', { reason: ' seen ' })).toEqual({
    headers: { 'content-type': 'application/json', 'if-match': '"7"' },
    body: '{"verdict":"did_not_happen","reason":"seen"}',
  });
  expect(buildVerdict(createCall(10), 'happened', { value: '{"paid": 1.10}', reason: '"' }).body).toBe(
    '{"verdict":"happened","reason":"\\"","value":{"paid": 1.10}}',
  );
});
