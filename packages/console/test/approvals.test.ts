import { expect, test } from 'vitest';
import {
  type ApprovalRecord,
  type Approvals,
  buildDecision,
  explainApproval,
  findMistake,
  isWaiting,
  stepFrom,
  takeApproval,
  takeApprovals,
  toArgumentsText,
} from '#src/page/approvals.ts';
import { firstOpen } from '#src/page/kept-list.ts';
import { diffLines } from '#src/page/text-diff.ts';

const createRecord = (minute: number, change: Partial<ApprovalRecord> = {}): ApprovalRecord => ({
  ...{ id: `a_${minute}`, digest: 'sha256:0', state: 'waiting', tool: 'pay', effects: 'write', summary: 'Pay 5' },
  ...{ arguments: { amount: 5 }, edited_arguments: null, key: 'agent', session: null, call: null, request_id: 'r' },
  ...{ index: 0, by: ['operator'], four_eyes: false, edit: false, expires_at: '2026-11-29T04:00:00.000Z' },
  ...{ decision: null, decided_by: null, decided_at: null, reason: null },
  requested_at: `2026-11-29T03:${minute}:00.000Z`,
  ...change,
});

const waitingOf = (approvals: Approvals): readonly string[] =>
  [...approvals.values()].filter(isWaiting).map(({ call }) => call.id);

test('a call keeps its place when it waits no more, and arguments that were read once stay', () => {
  const approvals: Approvals = new Map();
  takeApprovals(approvals, { approvals: [createRecord(10), createRecord(11, { arguments: null })], total: 2 });
  takeApproval(approvals, createRecord(11));
  takeApprovals(approvals, { approvals: [createRecord(11, { arguments: null }), createRecord(12)], total: 2 });
  expect([...approvals.keys()]).toEqual(['a_10', 'a_11', 'a_12']);
  expect(waitingOf(approvals)).toEqual(['a_11', 'a_12']);
  expect(approvals.get('a_11')?.call.arguments).toEqual({ amount: 5 });
  expect([...approvals.values()].map(explainApproval)).toEqual(['does not wait any more', 'waits', 'waits']);
});

test('the first that wait are shown, among those that a person has just decided', () => {
  const approvals: Approvals = new Map();
  takeApprovals(approvals, { approvals: [10, 11, 12, 13].map((minute) => createRecord(minute)), total: 4 });
  const shown = () => firstOpen(approvals.values(), isWaiting, 2).map((one) => one?.call.id ?? null);
  expect(shown()).toEqual(['a_10', 'a_11', null, null]);
  takeApprovals(approvals, { approvals: [12, 13].map((minute) => createRecord(minute)), total: 2 });
  expect(shown()).toEqual([null, null, 'a_12', 'a_13']);
  Object.assign(approvals.get('a_11') ?? {}, { answeredAt: Date.now() });
  expect(shown()).toEqual([null, 'a_11', 'a_12', 'a_13']);
  Object.assign(approvals.get('a_11') ?? {}, { answeredAt: Date.now() - 60_000 });
  expect(shown()).toEqual([null, null, 'a_12', 'a_13']);
});

test('keys lead from one to the next, and no further than the ends', () => {
  const approvals: Approvals = new Map();
  expect(stepFrom(approvals, null, 1)).toBe(null);
  takeApprovals(approvals, { approvals: [10, 11, 12].map((minute) => createRecord(minute)), total: 3 });
  expect([null, 'a_10', 'a_12', 'a_99'].map((id) => stepFrom(approvals, id, 1))).toEqual([
    'a_10',
    'a_11',
    'a_12',
    'a_10',
  ]);
  expect([null, 'a_10', 'a_12'].map((id) => stepFrom(approvals, id, -1))).toEqual(['a_12', 'a_10', 'a_11']);
});

test.each([
  [{ state: 'granted', decision: 'approve', decided_by: 'ops' }, 'approved by ops: it may run once'],
  [
    { state: 'used', decision: 'edit', decided_by: null },
    'approved with other arguments by somebody without a key, and was run',
  ],
  [{ state: 'denied', decision: 'deny', decided_by: 'ops' }, 'denied by ops'],
  [{ state: 'cancelled' }, 'withdrawn'],
] as const)('%o is told in words', (change, words) => {
  const call = createRecord(10, { decided_at: '2026-11-29T03:30:00.000Z', ...change });
  expect(explainApproval({ call, isListed: true, isAsked: false, answeredAt: 0 })).toBe(words);
});

test('a decision names the digest that was read, and sends arguments as they were typed', () => {
  expect(findMistake({ arguments: '{"a":' })).toContain('not JSON');
  expect(findMistake({ arguments: '[1]' })).toContain('must be a JSON object');
  expect(findMistake({ reason: 'x'.repeat(501) })).toContain('at most 500 characters');
  expect(findMistake({})).toBe('');
  expect(buildDecision(createRecord(10), 'deny', { reason: ' no \n' })).toEqual({
    headers: { 'content-type': 'application/json', 'if-match': '"sha256:0"' },
    body: '{"decision":"deny","reason":"no"}',
  });
  expect(buildDecision(createRecord(10), 'approve', { reason: ' ' }).body).toBe('{"decision":"approve"}');
  expect(buildDecision(createRecord(10), 'edit', { arguments: '{"n": 1.10}' }).body).toBe(
    '{"decision":"edit","arguments":{"n": 1.10}}',
  );
});

test('a difference has the lines of both texts, and of what is the same what stands beside a change', () => {
  const toText = (before: string, after: string) => diffLines(before, after).map(({ sign, text }) => sign + text);
  expect(toText('a\nb\nc\nd\ne\nf\ng', 'a\nb\nc\nX\nY\ne\nf\ng')).toEqual([
    ...[' b', ' c', '-d', '+X', '+Y', ' e', ' f'],
  ]);
  expect(toText('a\nb\nc', 'b\nc\na')).toEqual(['-a', ' b', ' c', '+a']);
  expect(toText('a', 'a')).toEqual([]);
  expect(toText('', 'a')).toEqual(['-', '+a']);
  // Whatever two texts are, what is left without `+` is the one, and without `-` the other.
  for (let seed = 0; seed < 200; seed += 1) {
    const [before, after] = [7, 11].map((step) => Array.from({ length: 5 }, (_, at) => (seed * step + at * at) % 3));
    const lines = diffLines(before?.join('\n') ?? '', after?.join('\n') ?? '');
    const keep = (sign: string) => lines.filter((line) => line.sign !== sign).map(({ text }) => Number(text));
    if (lines.length === 0) expect(before).toEqual(after);
    else if (keep('+').length === 5) expect([keep('+'), keep('-')]).toEqual([before, after]);
  }
});

test('long texts that have little in common are told apart as a whole', () => {
  const text = (from: number) => Array.from({ length: 20_000 }, (_, at) => `${from + at}`).join('\n');
  expect(diffLines(text(0), text(10_000))).toHaveLength(40_000);
});

test('arguments are shown with every level', () => {
  let deep: unknown = 1;
  for (let level = 0; level < 60; level += 1) deep = [deep];
  expect(toArgumentsText({ deep }).split('\n').length).toBeGreaterThan(100);
});
