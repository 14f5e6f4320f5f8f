import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { parseExactJson } from '#src/egress/exact-json.ts';

const MANY = `[${'"a\\"NaN",'.repeat(200_000)}NaN]`;

test.each([
  [
    '[9007199254740991,-9007199254740991,0,-0,1.5,1e20,6.022e23]',
    [9007199254740991, -9007199254740991, 0, -0, 1.5, 1e20, 6.022e23],
  ],
  ['[9007199254740993,-8123456789012345679]', ['9007199254740993', '-8123456789012345679']],
  ['[8.123456789012345679e18,12345678901234567.5]', ['8.123456789012345679e18', '12345678901234567.5']],
  ['[1e400,-1E+400,1e-400,0e-400]', ['1e400', '-1E+400', '1e-400', 0]],
  ['{"a":NaN,"b":-Infinity,"c":"NaN and \\"Infinity\\""}', { a: 'NaN', b: '-Infinity', c: 'NaN and "Infinity"' }],
])('%s comes as it was written', (text, value) => {
  expect(parseExactJson(text)).toEqual({ ok: true, value });
});

test.each(['', '{', '{"a":NaNs}', '[Infinity', 'undefined'])('%s is no JSON', (text) => {
  expect(parseExactJson(text)).toEqual({ ok: false });
});

test.each([
  ['strings with escapes around a NaN', MANY],
  ['one string of escapes beside a NaN', `[NaN,"${'\\"'.repeat(4_000_000)}"]`],
])('megabytes of %s are read', (_, text) => {
  // Not toMatchObject: it would print them.
  expect(parseExactJson(text).ok).toBe(true);
});

test('a string without an end takes time in proportion to its length', () => {
  const startedAt = performance.now();
  expect(parseExactJson(`NaN "${'\\"'.repeat(40_000)}`)).toEqual({ ok: false });
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(1_000));
});
