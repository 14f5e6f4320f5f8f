import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createSchemaCheck } from '#src/tools/schema-check.ts';

type Row = readonly [schema: z.ZodType, given: unknown, told: string];

const ROWS: readonly Row[] = [
  [z.number().max(100), 105, 'expected a number of at most 100, got the number 105'],
  [z.int().min(1), 0, 'expected a number of at least 1, got the number 0'],
  [z.number().lt(5), 5, 'expected a number below 5, got the number 5'],
  [z.number().gt(5), 5, 'expected a number above 5, got the number 5'],
  [z.number().multipleOf(0.5), 0.7, 'expected a multiple of 0.5, got the number 0.7'],
  [z.int(), 5.5, 'expected an integer, got the number 5.5'],
  [z.string().max(3), 'four', 'expected a string of at most 3 characters, got the string "four"'],
  [z.string().min(1), '', 'expected a string of at least 1 character, got the string ""'],
  [z.string().regex(/^a+$/), 'b', 'expected a string that matches /^a+$/, got the string "b"'],
  [z.iso.date(), 'soon', 'expected a string of the format \'date\', got the string "soon"'],
  [z.iso.datetime(), 'soon', 'expected a string of the format \'date-time\', got the string "soon"'],
  [z.array(z.string()).max(1), ['a', 'b'], 'expected an array of at most 1 item, got an array'],
  [z.array(z.string()).min(2), ['a'], 'expected an array of at least 2 items, got an array'],
  [z.record(z.string(), z.string()), 5, 'expected an object, got the number 5'],
];

describe('a rule that is broken is told in the same words by zod and by JSON Schema', () => {
  test.each(ROWS)('%#', async (schema, given, told) => {
    const ofZod = createSchemaCheck(z.object({ x: schema }), 'input');
    const { x } = Object(ofZod.jsonSchema['properties']);
    const ofJsonSchema = createSchemaCheck({ type: 'object', properties: { x } }, 'input');
    for (const { check } of [ofZod, ofJsonSchema])
      expect(await check({ x: given })).toMatchObject({ ok: false, issues: [{ path: 'x', message: told }] });
  });

  test('alternatives too, after what is wrong with each', async () => {
    const told = 'expected a value that one of the alternatives allows, got the boolean true';
    const issuesOf = async (schema: Parameters<typeof createSchemaCheck>[0]) => {
      const checked = await createSchemaCheck(schema, 'input').check({ x: true });
      return checked.ok ? [] : checked.issues.map(({ message }) => message);
    };
    const anyOf = [{ type: 'string' }, { type: 'number' }];
    expect(await issuesOf(z.object({ x: z.union([z.string(), z.number()]) }))).toEqual([told]);
    expect((await issuesOf({ properties: { x: { anyOf } } })).at(-1)).toBe(told);
    expect((await issuesOf({ properties: { x: { oneOf: anyOf } } })).at(-1)).toBe(told);
  });

  test.each([
    [{ uniqueItems: true }, [1, 2, 1], 'expected an array of different items (2 and 0 are equal), got an array'],
    [
      { not: { type: 'string' } },
      'a',
      'expected a value that the schema under `not` does not allow, got the string "a"',
    ],
    [
      { oneOf: [{ type: 'integer' }, { type: 'number' }] },
      1,
      'expected a value that only one of the alternatives allows, got the number 1',
    ],
  ])('so are the rules that JSON Schema alone has: %j', async (x, given, told) => {
    const { check } = createSchemaCheck({ type: 'object', properties: { x } }, 'input');
    expect(await check({ x: given })).toMatchObject({ ok: false, issues: [{ path: 'x', message: told }] });
  });

  test("what the tool's author says of a rule stands", async () => {
    const { check } = createSchemaCheck(z.object({ x: z.number().max(100, 'a hundred is the most') }), 'input');
    expect(await check({ x: 105 })).toMatchObject({ issues: [{ message: 'a hundred is the most' }] });
  });

  test('a value that is hidden stays hidden', async () => {
    const { check } = createSchemaCheck(z.object({ x: z.string().max(3).meta({ sensitive: true }) }), 'input');
    expect(JSON.stringify(await check({ x: 'secret' }))).not.toContain('secret');
  });
});

test.each([
  [{ allOf: [{ properties: { a: {} }, additionalProperties: false }, { properties: { b: {} } }] }, { b: 1 }, 'b', 'a'],
  [
    { $defs: { closed: { properties: { a: {} }, additionalProperties: false } }, $ref: '#/$defs/closed' },
    { b: 1 },
    'b',
    'a',
  ],
  [{ anyOf: [{ properties: { a: {} }, additionalProperties: false }] }, { b: 1 }, 'b', 'a'],
  [
    { properties: { x: { allOf: [{ properties: { a: {} }, additionalProperties: false }] } } },
    { x: { b: 1 } },
    'x.b',
    'a',
  ],
  [{ allOf: [{ properties: { a: {} } }], properties: { c: {} }, unevaluatedProperties: false }, { b: 1 }, 'b', 'c, a'],
  [{ patternProperties: { '^x-': {} }, additionalProperties: false }, { b: 1 }, 'b', '/^x-/'],
  [{ properties: {} }, { b: 1 }, 'b', 'none'],
])(
  'by %j an unknown parameter is told with the names that are accepted where it stands',
  async (schema, given, path, names) => {
    expect(await createSchemaCheck(schema, 'input').check(given)).toMatchObject({
      issues: expect.arrayContaining([
        expect.objectContaining({ path, message: `unknown parameter; accepted: ${names}` }),
      ]),
    });
  },
);
