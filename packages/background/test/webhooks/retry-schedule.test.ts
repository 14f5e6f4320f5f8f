import { expect, test } from 'vitest';
import { findRetryDelay } from '#src/webhooks/retry-schedule.ts';

const HOUR_MS = 3_600_000;

test('the steps grow to hours, and ten attempts lie within a day', () => {
  const delays: number[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const ageMs = delays.reduce((sum, delay) => sum + delay, 0);
    const delay = findRetryDelay({ attempt, ageMs, retryAfterMs: undefined, random: 0.999_999 });
    if (delay === null) break;
    delays.push(delay);
  }
  expect(delays.map((delay) => Math.round(delay / 1000))).toEqual([
    5, 30, 120, 600, 3600, 7200, 14_400, 28_800, 28_800,
  ]);
  expect(delays.reduce((sum, delay) => sum + delay, 0)).toBeLessThan(24 * HOUR_MS);
});

test.each([
  [0, 4_000],
  [0.5, 4_500],
  [0.999_999, 5_000],
])('chance %d spreads the first step', (random, expected) => {
  expect(findRetryDelay({ attempt: 1, ageMs: 0, retryAfterMs: undefined, random })).toBe(expected);
});

test('what an endpoint asks for is waited for, but never less than the step', () => {
  expect(findRetryDelay({ attempt: 1, ageMs: 0, retryAfterMs: 60_000, random: 0 })).toBe(60_000);
  expect(findRetryDelay({ attempt: 3, ageMs: 0, retryAfterMs: 1_000, random: 0 })).toBe(96_000);
});

test('nothing is tried beyond a day after the event', () => {
  expect(findRetryDelay({ attempt: 2, ageMs: 23 * HOUR_MS, retryAfterMs: HOUR_MS, random: 0 })).toBe(HOUR_MS);
  expect(findRetryDelay({ attempt: 2, ageMs: 23 * HOUR_MS + 1, retryAfterMs: HOUR_MS, random: 0 })).toBeNull();
  expect(findRetryDelay({ attempt: 10, ageMs: 0, retryAfterMs: undefined, random: 0 })).toBeNull();
});
