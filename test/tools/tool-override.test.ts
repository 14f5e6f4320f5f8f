import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { createOverrideLookup, matchesPattern, type ToolOverride } from '#src/tools/tool-override.ts';

const lookup = (entries: Readonly<Record<string, ToolOverride>>, name: string) =>
  createOverrideLookup(new Map(Object.entries(entries)))(name);

test('each member is as the most specific entry says it that names the member', () => {
  const entries = {
    '*': { timeoutMs: 1000, retries: 9, polling: true },
    'github_*': { timeoutMs: 2000, retries: 5 },
    'github_get_*': { timeoutMs: 3000 },
    github_get_issue: { effects: 'read' },
  } as const;
  expect(lookup(entries, 'github_get_issue').members).toEqual({
    timeoutMs: 3000,
    retries: 5,
    polling: true,
    effects: 'read',
  });
  expect(lookup(entries, 'github_list').members).toEqual({ timeoutMs: 2000, retries: 5, polling: true });
  expect(lookup(entries, 'echo').members).toEqual({ timeoutMs: 1000, retries: 9, polling: true });
});

test('a name comes before any pattern, and of two patterns alike the first, whatever the order they stand in', () => {
  expect(lookup({ 'ab*': { retries: 1 }, ab: { retries: 2 } }, 'ab').members).toEqual({ retries: 2 });
  expect(lookup({ ab: { retries: 2 }, 'ab*': { retries: 1 } }, 'ab').members).toEqual({ retries: 2 });
  expect(lookup({ 'ab*': { retries: 1 }, '*bc': { retries: 2 } }, 'abc').members).toEqual({ retries: 1 });
  expect(lookup({ '*bc': { retries: 2 }, 'ab*': { retries: 1 } }, 'abc').members).toEqual({ retries: 2 });
});

test('one tool can stay on where a pattern switches many off', () => {
  const entries = { 'shop_*': { enabled: false }, shop_search: { enabled: true } };
  expect(lookup(entries, 'shop_order').disabledBy).toBe('shop_*');
  expect(lookup(entries, 'shop_search').disabledBy).toBeNull();
  expect(lookup(entries, 'echo').disabledBy).toBeNull();
});

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
