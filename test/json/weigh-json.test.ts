import { expect, test } from 'vitest';
import { weighJson } from '#src/json/weigh-json.ts';

const listOf = (item: string, count: number): string => `[${Array.from({ length: count }, () => item).join(',')}]`;

test.each([
  ['one long string', `"${'x'.repeat(100_000)}"`, 1, 1.1],
  ['a string full of brackets and commas', `"${'{[,:'.repeat(25_000)}"`, 1, 1.1],
  ['a string with a character beyond U+00FF', `"${'x'.repeat(100_000)}中"`, 2, 2.1],
  // What V8 takes of each for a byte of its text, and what is more than twice of that.
  ['empty objects', listOf('{}', 30_000), 21, 42],
  ['empty lists', listOf('[]', 30_000), 13, 28],
  ['nested lists', listOf('[[[[[[]]]]]]', 8000), 24, 48],
  ['numbers with a fraction', listOf('0.5', 25_000), 6, 12],
  ['objects with one name each', `[${Array.from({ length: 8000 }, (_, i) => `{"k${i}":1}`).join(',')}]`, 13, 27],
])('%s is weighed as what its value takes', (_, json, least, most) => {
  const weight = weighJson(json) / json.length;
  expect(weight).toBeGreaterThanOrEqual(least);
  expect(weight).toBeLessThan(most);
});

test('a text that is no JSON is weighed, too', () => {
  expect(weighJson('{"a')).toBeGreaterThan(4);
  expect(weighJson('')).toBe(0);
});
