import { expect, test } from 'vitest';
import { toRetryAfterMs, toWaitMs } from '../../../clients/typescript/src/judge-attempt.ts';

const NOON = Date.parse('2026-11-21T12:00:00Z');

test.each([
  [null, null],
  ['0', 0],
  ['120', 120_000],
  [' 7 ', 7_000],
  ['Sat, 21 Nov 2026 12:00:30 GMT', 30_000],
  ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
  ['soon', null],
  ['', null],
])('Retry-After %j is %j ms', (text, expected) => {
  expect(toRetryAfterMs(text, NOON)).toBe(expected);
});

test('waits double from a fifth of a second to five seconds, and chance takes up to a half of them', () => {
  const longest = [1, 2, 3, 4, 5, 6, 7, 50].map((attempts) => toWaitMs(attempts, null, 1));
  expect(longest).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  expect([1, 2, 50].map((attempts) => toWaitMs(attempts, null, 0))).toEqual([100, 200, 2500]);
});

test('what the service asks for is kept to, and never shortened', () => {
  expect(toWaitMs(9, 1000, 0)).toBe(1000);
  expect(toWaitMs(9, 1000, 1)).toBe(1250);
});
