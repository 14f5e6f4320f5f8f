import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toCanonicalText } from '#src/json/canonical-text.ts';
import { toCallHash, toTextHash } from '#src/json/value-hash.ts';

const RUNS = 4000;

// Few names and values, so that equal ones come: what is looked for are hashes that differ where texts do not.
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

test('two calls have one hash exactly where they have one canonical text', () => {
  const byText = new Map<string, number>();
  const byHash = new Map<number, string>();
  const check = (tool: string, value: unknown): void => {
    const [hash, text] = [toCallHash(tool, value), `${tool}\n${toCanonicalText(value)}`];
    expect(Number.isSafeInteger(hash) && hash >= 0).toBe(true);
    expect(byText.get(text) ?? hash).toBe(hash);
    expect(byHash.get(hash) ?? text).toBe(text);
    byText.set(text, hash);
    byHash.set(hash, text);
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
])('%s and %s have one hash', (one, other) => {
  expect(toCallHash('tool', JSON.parse(one))).toBe(toCallHash('tool', JSON.parse(other)));
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
])('%s and %s have two hashes', (one, other) => {
  expect(toCallHash('tool', JSON.parse(one))).not.toBe(toCallHash('tool', JSON.parse(other)));
});

test('the tool is part of the hash', () => {
  expect(toCallHash('one', {})).not.toBe(toCallHash('two', {}));
});

test('a hundred thousand small calls have as many hashes', () => {
  const hashes = new Set<number>();
  for (let page = 0; page < 1000; page += 1)
    for (let size = 0; size < 100; size += 1) hashes.add(toCallHash('list', { page, size }));
  expect(hashes.size).toBe(100_000);
});

test.each([
  ['short', 'a', 'b'],
  ['long', `${'x'.repeat(5000)}a`, `${'x'.repeat(5000)}b`],
])('%s texts have one hash where they are equal', (_length, one, other) => {
  expect(toTextHash(one)).toBe(toTextHash(`${one.slice(0, 1)}${one.slice(1)}`));
  expect(toTextHash(one)).not.toBe(toTextHash(other));
  expect(Number.isSafeInteger(toTextHash(one))).toBe(true);
});

test('hashes are the same in every process and version: sessions that processes share keep them', () => {
  expect(toCallHash('echo', { text: 'é', n: [1, -0, null, true] })).toBe(450_797_955_977_040);
  expect(toTextHash('{"text":"é"}')).toBe(6_357_204_233_846_098);
  expect(toTextHash('x'.repeat(5000))).toBe(3_476_465_719_446_722);
});
