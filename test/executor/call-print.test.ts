import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toCallPrint, toTextPrint } from '#src/executor/round-call.ts';
import { toCanonicalText } from '#src/json/canonical-text.ts';

const RUNS = 4000;

// Few names and values, so that equal ones come: what is looked for are prints that differ where texts do not.
const anyName = fc.oneof(fc.constantFrom('a', 'b', 'ab', '', '0', 'é', 'toString'), fc.string({ unit: 'grapheme' }));
const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      0,
      -0,
      1,
      -1,
      1e3,
      1e21,
      0.1,
      5e-324,
      2 ** 32,
      2 ** 53,
      '',
      '0',
      'a',
      'ab',
      'é',
      '😀',
      true,
      false,
      null,
    ),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.string({ unit: 'grapheme' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(anyName, tie('value'), { maxKeys: 4 }),
  ),
}));
const anyTool = fc.constantFrom('read', 'write', 'reada');

/** The same value with its members the other way round, deep inside as well. */
const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const);
  return Object.fromEntries(members.reverse());
};

test('two calls have one print exactly where they have one canonical text', () => {
  const byText = new Map<string, number>();
  const byPrint = new Map<number, string>();
  const check = (tool: string, value: unknown): void => {
    const [print, text] = [toCallPrint(tool, value), `${tool}\n${toCanonicalText(value)}`];
    expect(Number.isSafeInteger(print) && print >= 0).toBe(true);
    expect(byText.get(text) ?? print).toBe(print);
    expect(byPrint.get(print) ?? text).toBe(text);
    byText.set(text, print);
    byPrint.set(print, text);
  };
  fc.assert(
    fc.property(anyTool, anyValue, (tool, value) => {
      check(tool, value);
      check(tool, reversed(value));
      check(tool, JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: RUNS },
  );
  expect(byText.size).toBeGreaterThan(RUNS / 4);
});

test.each([
  ['{"a":1,"b":2}', '{"b":2,"a":1}'],
  ['{"n":1e3}', '{"n":1000}'],
  ['{"n":-0}', '{"n":0}'],
  ['{"t":"\\u00e9"}', '{"t":"é"}'],
  ['{"a":{"x":[1,{"c":1,"d":2}],"y":2}}', '{"a":{"y":2,"x":[1,{"d":2,"c":1}]}}'],
])('%s and %s have one print', (one, other) => {
  expect(toCallPrint('tool', JSON.parse(one))).toBe(toCallPrint('tool', JSON.parse(other)));
});

test.each([
  ['{"a":1,"b":2}', '{"a":2,"b":1}'],
  ['{"a":{"b":1},"c":{"d":2}}', '{"a":{"d":2},"c":{"b":1}}'],
  ['{"a":1}', '{"a":"1"}'],
  ['{"a":null}', '{}'],
  ['{"a":[1,2]}', '{"a":[2,1]}'],
  ['{"a":[[1],2]}', '{"a":[[1,2]]}'],
  ['{"a":[]}', '{"a":{}}'],
  ['{"a":4294967296}', '{"a":8589934592}'],
  ['{"a":1}', '{"a":true}'],
  ['{"a":"é"}', '{"a":"e\\u0301"}'],
])('%s and %s have two prints', (one, other) => {
  expect(toCallPrint('tool', JSON.parse(one))).not.toBe(toCallPrint('tool', JSON.parse(other)));
});

test('the tool is part of the print', () => {
  expect(toCallPrint('one', {})).not.toBe(toCallPrint('two', {}));
});

test('a hundred thousand small calls have as many prints', () => {
  const prints = new Set<number>();
  for (let page = 0; page < 1000; page += 1)
    for (let size = 0; size < 100; size += 1) prints.add(toCallPrint('list', { page, size }));
  expect(prints.size).toBe(100_000);
});

test.each([
  ['short', 'a', 'b'],
  ['long', `${'x'.repeat(5000)}a`, `${'x'.repeat(5000)}b`],
])('%s texts have one print where they are equal', (_length, one, other) => {
  expect(toTextPrint(one)).toBe(toTextPrint(`${one.slice(0, 1)}${one.slice(1)}`));
  expect(toTextPrint(one)).not.toBe(toTextPrint(other));
  expect(Number.isSafeInteger(toTextPrint(one))).toBe(true);
});

test('prints are the same in every process and version: sessions that processes share keep them', () => {
  expect(toCallPrint('echo', { text: 'é', n: [1, -0, null, true] })).toBe(450_797_955_977_040);
  expect(toTextPrint('{"text":"é"}')).toBe(6_357_204_233_846_098);
  expect(toTextPrint('x'.repeat(5000))).toBe(3_476_465_719_446_722);
});
