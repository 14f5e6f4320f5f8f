import { toEntry, toFailedEntry } from '@recourse/test-support/journal-entries.ts';
import { expect, test } from 'vitest';
import type { LateResult } from '#src/contract/session.ts';
import { toJournalEntries, toLateLine } from '#src/executor/journal-entries.ts';

const timedOut = (requestId: string, index: number, step = 1) =>
  toFailedEntry({ step, request_id: requestId, index, code: 'timeout', executed: 'maybe' });

const toLate = (message: string): LateResult => ({
  time: '2026-11-21T10:00:05.000Z',
  outcome: 'success',
  executed: 'yes',
  code: null,
  message,
});

test('the line of a late result says which call it belongs to', () => {
  expect(toLateLine({ requestId: 'r_1', index: 2 }, toLate('done'))).toBe(
    '{"late_of":{"request_id":"r_1","index":2},"late":{"time":"2026-11-21T10:00:05.000Z","outcome":"success","executed":"yes","code":null,"message":"done"}}',
  );
});

test('calls come as they were written, oldest first', () => {
  const written = [toEntry(), toFailedEntry({ index: 1, id: 7 }), toEntry({ step: 2, request_id: 'r_2' })];
  expect(toJournalEntries(written.map((entry) => JSON.stringify(entry)))).toEqual(written);
});

test('a late result is put to its call, whichever of the two was written first', () => {
  const late = toLateLine({ requestId: 'r_1', index: 1 }, toLate('done'));
  const [one, two] = [timedOut('r_1', 0), timedOut('r_1', 1)].map((entry) => JSON.stringify(entry));
  const expected = [timedOut('r_1', 0), { ...timedOut('r_1', 1), late: toLate('done') }];
  expect(toJournalEntries([one ?? '', two ?? '', late])).toEqual(expected);
  expect(toJournalEntries([late, one ?? '', two ?? ''])).toEqual(expected);
});

test('a late result whose call has left the journal is dropped', () => {
  const late = toLateLine({ requestId: 'r_0', index: 0 }, toLate('done'));
  expect(toJournalEntries([JSON.stringify(timedOut('r_1', 0)), late])).toEqual([timedOut('r_1', 0)]);
});

test('where a caller used a request id twice, late results go to its failed calls in their order', () => {
  const lines = [
    JSON.stringify(timedOut('r_1', 0, 1)),
    JSON.stringify(timedOut('r_1', 0, 2)),
    toLateLine({ requestId: 'r_1', index: 0 }, toLate('first')),
    toLateLine({ requestId: 'r_1', index: 0 }, toLate('second')),
    JSON.stringify(toEntry({ request_id: 'r_1', step: 3 })),
  ];
  expect(toJournalEntries(lines).map(({ step, late }) => [step, late?.message])).toEqual([
    [1, 'first'],
    [2, 'second'],
    [3, undefined],
  ]);
});

const { request_id: _left, ...withoutRequest } = toEntry();

test.for([
  ['no JSON', 'garbage'],
  ['nothing', ''],
  ['half a line', '{"step":1,"time":"2026'],
  ['another value', '"a text"'],
  ['an array', '[]'],
  ['null', 'null'],
  ['a call without a request', JSON.stringify(withoutRequest)],
  ['a code that this version does not know', JSON.stringify({ ...toFailedEntry(), code: 'moon_phase' })],
  ['a count below zero', JSON.stringify(toEntry({ retries_left: -1 }))],
  ['a member that would be a prototype', '{"__proto__":{"step":1}}'],
  ['a late result of nothing', '{"late_of":{},"late":{}}'],
  ['5 000 brackets', '['.repeat(5000)],
] as const)('a line that is %s is skipped, and its neighbours are not', ([, line]) => {
  const neighbour = JSON.stringify(toEntry());
  expect(toJournalEntries([neighbour, line, neighbour])).toEqual([toEntry(), toEntry()]);
});

test('members that this version does not know are left out', () => {
  const entry = { ...toEntry(), mood: 'good' };
  expect(toJournalEntries([JSON.stringify(entry)])).toEqual([toEntry()]);
});
