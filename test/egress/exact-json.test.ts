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

test('a megabyte of escapes around a NaN is read', () => {
  expect(parseExactJson(MANY)).toMatchObject({ ok: true });
});
