import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toCanonicalText } from '#src/json/canonical-text.ts';

const toSorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(toSorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, toSorted(member)] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
};

test('a value in the order of RFC 8785 has the same text as in any other, and that is the text of the RFC', () => {
  const names = fc.oneof(fc.string({ unit: 'binary', maxLength: 4 }), fc.nat({ max: 20 }).map(String));
  const { value: values } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(fc.string({ unit: 'binary' }), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean()),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(names, tie('value'), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(values, (value) => {
      expect(toCanonicalText(value)).toBe(canonicalize(value));
      expect(toCanonicalText(toSorted(value))).toBe(canonicalize(value));
    }),
    { numRuns: 500 },
  );
});

test('a value that has no such text has that of JSON, or none', () => {
  expect(toCanonicalText({ a: '\ud800' })).toBe('{"a":"\\ud800"}');
  expect(toCanonicalText(undefined)).toBe('');
  expect(toCanonicalText(Number.NaN)).toBe('null');
  expect(toCanonicalText(new Date(0))).toBe('"1970-01-01T00:00:00.000Z"');
});
