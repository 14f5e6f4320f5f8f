import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { flattenObject } from '#src/request-body.ts';
import { findEndlessSchema, RequestSchemas } from '#src/request-schema.ts';
import { documentOf, startImport } from './import-lab.ts';

const refer = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const BASE = { baseUrl: 'http://127.0.0.1:9' };
const bodyOf = (schema: unknown) => ({
  '/pets': {
    post: { operationId: 'add', requestBody: { required: true, content: { 'application/json': { schema } } } },
  },
});

const Base = {
  type: 'object',
  properties: { id: { type: 'string', readOnly: true }, name: { type: 'string' } },
  required: ['id', 'name'],
};

test.each([
  ['of 3.0, in allOf', '3.0.3', { Base, Pet: { allOf: [refer('Base')], required: ['id'] } }],
  ['of 3.1, in allOf', '3.1.0', { Base, Pet: { allOf: [refer('Base')], required: ['id'] } }],
  ['of 3.1, beside a reference', '3.1.0', { Base, Pet: { ...refer('Base'), required: ['id'] } }],
  [
    'over two references',
    '3.0.3',
    { Base, Named: { allOf: [refer('Base')] }, Pet: { allOf: [refer('Named'), { required: ['id'] }] } },
  ],
  [
    'that leads to itself by a member',
    '3.0.3',
    {
      Base: { ...Base, properties: { ...Base.properties, mother: refer('Pet') } },
      Pet: { allOf: [refer('Base')], required: ['id'] },
    },
  ],
])('what only answers have is not required of a request: a schema %s', async (_what, openapi, schemas) => {
  const { tool } = await startImport(
    documentOf(bodyOf({ type: 'array', items: refer('Pet') }), { openapi, components: { schemas } }),
    BASE,
  );
  expect((await tool('add').prepare({ body: [{ name: 'Rex' }] })).ok).toBe(true);
  expect((await tool('add').prepare({ body: [{}] })).ok).toBe(false);
});

test('what is combined in 5^8 ways, and in 5^60, is put together once', () => {
  const levels = (count: number, last: unknown) => ({
    components: {
      schemas: Object.fromEntries(
        Array.from({ length: count + 1 }, (_, level) => [
          `d${level}`,
          level === count ? last : { allOf: Array.from({ length: 5 }, () => refer(`d${level + 1}`)) },
        ]),
      ),
    },
  });
  const startedAt = performance.now();
  for (const count of [8, 60]) {
    const empty = levels(count, { type: 'object', required: ['a'] });
    const found = flattenObject(empty, refer('d0'));
    expect([...(found?.required ?? [])]).toEqual(['a']);
    // A part that is there five times over counts once.
    expect(flattenObject(levels(count, { properties: { a: {} } }), refer('d0'))?.properties.size).toBe(1);
    expect(flattenObject(levels(count, refer('d0')), refer('d0'))).toBeNull();
    const schemas = new RequestSchemas({ root: empty, schemas: 'of_3_0' });
    schemas.convert(refer('d0'));
    expect(Object.keys(schemas.definitions())).toHaveLength(count + 1);
    expect(findEndlessSchema(schemas.definitions())).toBeNull();
  }
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(2_000));
});

test('a plain object is put together of its parts, unless one comes back to itself or two have one member', () => {
  const root = { components: { schemas: { A: { properties: { a: {} } }, Loop: { allOf: [refer('Loop')] } } } };
  const flat = flattenObject(root, {
    properties: { own: {} },
    allOf: [refer('A'), { required: ['a'] }, { properties: { b: {} }, required: ['b'] }],
  });
  expect(flat === null ? null : [[...flat.properties.keys()], [...flat.required]]).toEqual([
    ['own', 'a', 'b'],
    ['a', 'b'],
  ]);
  expect(flattenObject(root, { allOf: [refer('A'), { properties: { a: {} } }] })).toBeNull();
  expect(flattenObject(root, { allOf: [refer('A'), refer('A')] })?.properties.size).toBe(1);
  expect(flattenObject(root, refer('Loop'))).toBeNull();
});

test('a schema that speaks of the same value again is found, also where it does so for one member', () => {
  const again = { $ref: '#/$defs/A' };
  expect(findEndlessSchema({ A: { anyOf: [{ $ref: '#/$defs/B' }] }, B: { not: again } })).not.toBeNull();
  expect(findEndlessSchema({ A: { dependentSchemas: { a: again } } })).toBe('A');
  expect(findEndlessSchema({ A: { properties: { a: again }, items: again } })).toBeNull();
  const chain = Array.from({ length: 1_000 }, (_, place) => [`S${place}`, { $ref: `#/$defs/S${place + 1}` }] as const);
  expect(findEndlessSchema({ ...Object.fromEntries(chain), S1000: {} })).toBeNull();
});

test('a schema of more than a hundred thousand parts makes its operation unavailable', async () => {
  const parts = Array.from({ length: 100_001 }, () => ({ type: 'string' }));
  const { offer } = await startImport(documentOf(bodyOf({ type: 'array', items: { anyOf: parts } })), BASE);
  expect(offer().unavailable.map(({ reason }) => reason)).toEqual(['Its schema has more than 100000 parts.']);
});
