import { expect, test } from 'vitest';
import { buildFields, type Field } from '#src/page/form-field.ts';

const kinds = (fields: readonly Field[]): readonly string[] => fields.map(({ name, kind }) => `${name}: ${kind}`);

const ofObject = (properties: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}) =>
  buildFields({ type: 'object', properties, ...more }).fields;

test('every simple type has a control of its own, and what a form cannot know is asked for as JSON', () => {
  const fields = ofObject({
    text: { type: 'string' },
    number: { type: 'number' },
    whole: { type: 'integer' },
    flag: { type: 'boolean' },
    size: { enum: ['s', 1, null] },
    fixed: { const: 'x' },
    list: { type: 'array', items: { type: 'string' } },
    inner: { type: 'object', properties: { a: { type: 'string' } } },
    map: { type: 'object', additionalProperties: { type: 'string' } },
    tuple: { type: 'array', prefixItems: [{ type: 'string' }] },
    either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    types: { type: ['string', 'null'] },
    anything: {},
    nonsense: true,
  });
  expect(kinds(fields)).toEqual([
    'text: text',
    'number: number',
    'whole: number',
    'flag: choice',
    'size: choice',
    'fixed: choice',
    'list: list',
    'inner: object',
    'map: json',
    'tuple: json',
    'either: json',
    'types: json',
    'anything: json',
    'nonsense: json',
  ]);
});

test('descriptions, limits and defaults are told, but not the bounds that every integer has', () => {
  const [field] = ofObject(
    { n: { type: 'integer', minimum: 1, maximum: 9007199254740991, default: 3, description: 'How many.' } },
    { required: ['n'] },
  );
  expect(field).toEqual({
    kind: 'number',
    name: 'n',
    description: 'How many.',
    presence: 'required',
    notes: ['whole number', 'minimum 1', 'default 3'],
  });
});

test('"this or null" is asked for as this, with the description and default around it', () => {
  const [field] = ofObject({
    a: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null, description: 'Or not.' },
  });
  expect(field).toMatchObject({ kind: 'text', description: 'Or not.', presence: 'optional', notes: ['default null'] });
});

test('references are followed within the document, and one that has no end stops', () => {
  const { fields } = buildFields({
    $ref: '#/$defs/tree',
    $defs: {
      tree: { type: 'object', properties: { leaf: { $ref: '#/$defs/a~1b' }, child: { $ref: '#/$defs/tree' } } },
      'a/b': { type: 'boolean' },
      loop: { $ref: '#/$defs/loop' },
    },
  });
  expect(kinds(fields)).toEqual(['leaf: choice', 'child: object']);
  expect(JSON.stringify(fields).split('leaf').length - 1).toBe(6);
  expect(kinds(ofObject({ a: { $ref: '#/$defs/a' } }, { $defs: { a: { $ref: '#/$defs/a' } } }))).toEqual(['a: json']);
  expect(kinds(ofObject({ a: { $ref: 'https://example.com/schema' } }))).toEqual(['a: json']);
});

test('names of prototypes are names like any other', () => {
  const properties: unknown = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"number"}}');
  expect(kinds(buildFields({ type: 'object', properties, required: ['__proto__'] }).fields)).toEqual([
    '__proto__: text',
    'constructor: number',
  ]);
  expect(buildFields({ type: 'object' })).toEqual({ fields: [], left: 0 });
  expect(buildFields({ properties: { a: { $ref: '#/constructor' } } }).fields[0]?.kind).toBe('json');
});

const countOf = (fields: readonly Field[]): number =>
  fields.reduce((sum, field) => sum + 1 + (field.kind === 'object' ? countOf(field.fields) : 0), 0);

test('a schema that refers to itself many times makes no more fields than a page can show', () => {
  for (const names of [3, 12, 150]) {
    const properties = Object.fromEntries(
      Array.from({ length: names }, (_, at) => [`p${at}`, { $ref: '#/$defs/node' }]),
    );
    const node = { type: 'object', properties };
    const { fields, left } = buildFields({ ...node, $defs: { node } });
    expect([fields.length, left]).toEqual([names, 0]);
    expect(countOf(fields)).toBeLessThanOrEqual(200);
  }
});

test('more properties and more options than a page can show are left to the JSON', () => {
  const properties = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`p${at}`, { type: 'string' }]));
  const { fields, left } = buildFields({ type: 'object', properties });
  expect([fields.length, left]).toEqual([200, 9_800]);
  expect(kinds(ofObject({ inner: { type: 'object', properties } }))).toEqual(['inner: json']);
  const options = Array.from({ length: 10_000 }, (_, at) => `o${at}`);
  expect(kinds(ofObject({ one: { type: 'string', enum: options }, two: { enum: options } }))).toEqual([
    'one: text',
    'two: json',
  ]);
});
