import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { matchesPattern } from '#src/tools/tool-override.ts';

test.each([
  ['echo', 'echo', true],
  ['echo', 'echo2', false],
  ['echo', '*', true],
  ['github_get', 'github_*', true],
  ['github_', 'github_*', true],
  ['github', 'github_*', false],
  ['a_b_c', 'a*c', true],
  ['a_b_c', '*b*', true],
  ['a_b_c', 'a*b*c*', true],
  ['aba', 'ab*ba', false],
  ['a.b', 'a?b', false],
  ['a-b', 'a.b', false],
])('%s is called like %s: %s', (name, pattern, fits) => {
  expect(matchesPattern(name, pattern)).toBe(fits);
});

test('a pattern of many stars takes no longer than another', () => {
  const startedAt = performance.now();
  expect(matchesPattern('a'.repeat(64), `${'*a'.repeat(63)}*b`)).toBe(false);
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(500));
});
