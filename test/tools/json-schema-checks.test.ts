import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Issue } from '#src/contract/tool-result.ts';
import { createJsonSchemaChecks, findTwins } from '#src/tools/json-schema-checks.ts';

const toChecks = (...[options]: Parameters<typeof createJsonSchemaChecks>) => {
  const checks = createJsonSchemaChecks(options);
  return (schema: Readonly<Record<string, unknown>>) => {
    const check = checks(schema);
    return (value: unknown): readonly Issue[] => {
      const checked = check(value);
      return checked.ok ? [] : checked.issues;
    };
  };
};
const foreign = toChecks({ origin: 'foreign' });
const own = toChecks({ origin: 'own' });
const isWithin = (limitMs: number, act: () => unknown): boolean => {
  const startedAt = performance.now();
  act();
  return performance.now() - startedAt < limitMs;
};

test('all that is wrong with a small value is told at once', () => {
  const check = own({ type: 'object', properties: { a: { type: 'number' }, b: { type: 'string' } }, required: ['c'] });
  expect(check({ a: 'x', b: 1 }).map(({ path }) => path)).toEqual(['c', 'a', 'b']);
  expect(check({ a: 1, b: '', c: null })).toEqual([]);
});

// Each of these stopped the process for half a minute or for good, as Ajv has it by itself.
test('forty thousand different items are seen to be unique in no time', () => {
  const check = foreign({ type: 'array', uniqueItems: true });
  const items = Array.from({ length: 40_000 }, (_, n) => ({ n, text: `item ${n}` }));
  expect(isWithin(5_000, () => expect(check(items)).toEqual([]))).toBe(true);
  expect(check([...items, { text: 'item 7', n: 7 }])).toMatchObject([
    { message: 'expected an array of different items (40000 and 7 are equal), got an array' },
  ]);
});

test('a hundred thousand mistakes in a schema of many alternatives are one problem', () => {
  const anyOf = Array.from({ length: 400 }, (_, n) => ({ required: [`p${n}`] }));
  const check = foreign({ type: 'array', items: { anyOf } });
  const items = Array.from({ length: 99_000 }, () => ({}));
  expect(isWithin(5_000, () => expect(check(items).length).toBeLessThan(1_000))).toBe(true);
});

test('a foreign pattern cannot stop the process, and judges as ever', () => {
  const check = foreign({ type: 'string', pattern: '^(a+)+$' });
  expect(isWithin(5_000, () => expect(check(`${'a'.repeat(5_000)}!`)).toHaveLength(1))).toBe(true);
  expect(check('aaa')).toEqual([]);
  expect(foreign({ type: 'string', pattern: '^\\d{3}-[A-Z]+$' })('123-AB')).toEqual([]);
  expect(foreign({ type: 'string', pattern: '^\\d{3}-[A-Z]+$' })('12-AB')).toHaveLength(1);
});

test('a foreign pattern that only JavaScript could run is left to whoever wrote it; an own one is run', () => {
  const schema = { type: 'string', pattern: '^(?!x)' };
  expect(foreign(schema)('xyz')).toEqual([]);
  expect(own(schema)('xyz')).toHaveLength(1);
});

test('a schema that asks to be checked asynchronously is checked all the same', () => {
  const check = foreign({
    $async: true,
    type: 'object',
    properties: { a: { type: 'number' } },
    additionalProperties: false,
  });
  expect(check({ a: 'no' })).toHaveLength(1);
  expect(check({ zz: 1 })).toHaveLength(1);
  expect(check({ a: 1 })).toEqual([]);
});

test.each([
  [[1, '1', true, 'true', null, [], {}], null],
  [
    [
      { a: 1, b: [{ c: 2, d: 3 }] },
      { b: [{ d: 3, c: 2 }], a: 1 },
    ],
    [1, 0],
  ],
  [[['a', 1], { a: 1 }, [['a', 1]], ['members', [['a', 1]]]], null],
  [
    [0, -0],
    [1, 0],
  ],
  [[JSON.parse('{"__proto__":1}'), {}], null],
  [
    [
      { 2: 'b', 1: 'a' },
      { 1: 'a', 2: 'b' },
    ],
    [1, 0],
  ],
] as const)('of %j the twins are %j', (items, twins) => {
  expect(findTwins(items)).toEqual(twins);
});

test('a list has twins exactly where two items are equal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 12 }), async (items) => {
      const isEqual = (a: unknown, b: unknown): boolean => {
        try {
          expect(JSON.parse(JSON.stringify(a))).toEqual(JSON.parse(JSON.stringify(b)));
          return true;
        } catch (_different) {
          return false;
        }
      };
      const some = items.some((one, place) => items.slice(0, place).some((other) => isEqual(one, other)));
      expect(findTwins(items) !== null).toBe(some);
    }),
    { numRuns: 300 },
  );
});

// 2 to the power of 36 ways.
const laughing = (word: 'allOf' | 'anyOf') => ({
  type: 'object',
  properties: { r: { $ref: '#/$defs/d0' } },
  $defs: Object.fromEntries(
    Array.from({ length: 36 }, (_, n) => {
      const next = { $ref: `#/$defs/d${n + 1}` };
      return [`d${n}`, n === 35 ? { type: 'number' } : { [word]: [next, next] }];
    }),
  ),
});

test.each(['allOf', 'anyOf'] as const)('a foreign schema of endless %s stops nothing but its own check', (word) => {
  const check = foreign(laughing(word));
  expect(isWithin(10_000, () => expect(check({ r: null })).toHaveLength(1))).toBe(true);
  expect(check({ r: null })).toMatchObject([
    { message: 'the arguments could not be checked against the schema in time; send simpler ones' },
  ]);
  expect(check({})).toEqual([]);
});

test('a foreign schema that refers to itself judges as ever', () => {
  const tree = { type: 'object', properties: { left: { $ref: '#' }, n: { type: 'number' } }, required: ['n'] };
  const check = foreign(tree);
  expect(check({ n: 1, left: { n: 2 } })).toEqual([]);
  expect(check({ n: 1, left: {} })).toMatchObject([{ path: 'left.n' }]);
});

test.each([
  [0.01, [5.06, 4.35, 0.07, 19.99, 123_456_789.01, -0.07, 0, 1e21], [5.065, 0.015, 1e-9]],
  [0.1, [0.3, 0.7, 0.30000000000000004], [0.25]],
  [0.05, [0.15], [0.12]],
  [1e-8, [0.00012345, 12_391_239_123], [1.5e-9]],
  [2.5, [7.5, -10], [6]],
  [3, [9, -9, 9e20], [10, 4.5]],
  [0.123456789, [0.246913578], [1e308]],
])('multiples of %d are told by their decimals, own and foreign', (multipleOf, multiples, others) => {
  for (const check of [own({ multipleOf }), foreign({ multipleOf })]) {
    expect(multiples.flatMap(check)).toEqual([]);
    expect(others.filter((value) => check(value).length === 0)).toEqual([]);
  }
});

const wide = createJsonSchemaChecks({ origin: 'foreign', toWideInteger: BigInt });

test.each([
  [{ type: 'integer' }, '8123456789012345679', 8123456789012345679n],
  [{ type: 'number' }, '-9007199254740993', -9007199254740993n],
  [{ type: ['null', 'integer'] }, '9007199254740992', 9007199254740992n],
  [{ type: 'string' }, '8123456789012345679', '8123456789012345679'],
  [{ oneOf: [{ type: 'integer' }, { type: 'string' }] }, '8123456789012345679', '8123456789012345679'],
  [{ anyOf: [{ type: 'integer' }, { type: 'boolean' }] }, '8123456789012345679', 8123456789012345679n],
  [{ type: 'integer', multipleOf: 10 }, '8123456789012345670', 8123456789012345670n],
  [{ items: { type: 'integer' } }, ['8123456789012345679', 1], [8123456789012345679n, 1]],
])('by %j the text %j is a number only where no text fits', (schema, given, value) => {
  expect(wide(schema)(given)).toEqual({ ok: true, value });
});

test.each([
  ['12', 'expected an integer, got the string "12"'],
  ['9007199254740991', 'expected an integer, got the string "9007199254740991"'],
  ['008123456789012345679', 'expected an integer, got the string "008123456789012345679"'],
  ['8123456789012345679.0', 'expected an integer, got the string "8123456789012345679.0"'],
  ['8123456789012345679 ', 'expected an integer, got the string "8123456789012345679 "'],
  ['9'.repeat(309), 'expected an integer, got the string "999'],
])('the text %s is no integer', (given, message) => {
  expect(wide({ type: 'integer' })(given)).toMatchObject({
    ok: false,
    issues: [{ message: expect.stringContaining(message) }],
  });
});

test('each alternative gets the id as it wants it, in a short list and in a long one', () => {
  const toWay = (kind: string, type: string) => ({
    properties: { kind: { const: kind }, id: { type } },
    required: ['kind', 'id'],
    additionalProperties: false,
  });
  const check = wide({ items: { anyOf: [toWay('a', 'integer'), toWay('b', 'string')] } });
  const rows = [
    { kind: 'a', id: '8123456789012345679' },
    { kind: 'b', id: '8123456789012345679' },
  ];
  expect(check(rows)).toEqual({ ok: true, value: [{ kind: 'a', id: 8123456789012345679n }, rows[1]] });
  const ids = Array.from({ length: 5_000 }, (_, n) => ({ id: String(8123456789012345679n + BigInt(n)) }));
  expect(wide({ items: { properties: { id: { type: 'integer' } } } })(ids)).toEqual({
    ok: true,
    value: ids.map(({ id }) => ({ id: BigInt(id) })),
  });
});

test('a wide id beyond a bound is told the bound and not to be another type', () => {
  const checked = wide({ properties: { id: { type: 'integer', maximum: 100 } } })({ id: '8123456789012345679' });
  expect(checked).toMatchObject({ ok: false, issues: [{ path: 'id', expected: expect.stringContaining('100') }] });
});

// Written out, an object with `then` would look like a promise.
const toCondition = (condition: unknown, then: unknown) =>
  Object.fromEntries([
    ['if', condition],
    ['then', then],
  ]);

test.each([
  [{ not: { pattern: '^(?=.*admin)' } }, ['joe', 'admin'], []],
  [{ oneOf: [{ pattern: '^(?=a)' }, { pattern: '^(?=b)' }] }, ['a', 'b'], []],
  [{ oneOf: [{ pattern: '^a' }, { pattern: '^b' }] }, ['a', 'b'], ['c']],
  [{ pattern: '^\\d{3}\\Z' }, ['123'], ['1', '1234']],
  [{ pattern: '^(?P<n>\\d{3})$' }, ['123', '1'], []],
  [{ type: 'string', oneOf: [{ pattern: '\\A(?P<n>\\d+)\\Z' }, {}] }, ['123'], [5]],
  [{ pattern: '^\\d{3}\\-\\d$' }, ['123-4'], ['1234']],
  [{ $defs: { a: { pattern: '(?<=a)' } }, ...toCondition({ $ref: '#/$defs/a' }, false) }, ['a'], []],
  [{ $defs: { a: { $anchor: 'a', pattern: '(?<=a)' } }, not: { $ref: '#a' } }, ['a'], []],
])('by %j, where patterns cannot be judged nothing is refused for them', (schema, fitting, others) => {
  expect(fitting.flatMap(foreign(schema))).toEqual([]);
  expect(others.filter((value) => foreign(schema)(value).length === 0)).toEqual([]);
});
