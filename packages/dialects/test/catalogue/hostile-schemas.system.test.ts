import { HOSTILE_SCHEMAS, toLevels } from '@recourse/test-support/schema-graphs.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { acceptsNull } from '#src/catalogue/accepts-null.ts';
import { toGeminiSchema } from '#src/catalogue/gemini-schema.ts';
import { toObjectRoot } from '#src/catalogue/object-root.ts';
import { ANTHROPIC_RULES, measureSchema, OPENAI_RULES, toStrictSchema } from '#src/catalogue/strict-schema.ts';
import { findAnthropicRefusal } from '#src/catalogue/write-catalogue.ts';
import { dropOptionalNulls } from '#src/provider-calls.ts';
import { describe } from './describe.ts';

// It takes a tenth of it; followed way by way, none of these would ever end.
const LIMIT_MS = timeLimit(2_000);

const drop = dropOptionalNulls;

test.each(HOSTILE_SCHEMAS)('every conversion of %s ends soon and throws nothing', (_what, schema) => {
  const conversions = {
    acceptsNull: () => acceptsNull({ allOf: [schema] }, schema),
    openai: () => toStrictSchema(schema, OPENAI_RULES),
    anthropic: () => toStrictSchema(schema, ANTHROPIC_RULES),
    root: () => toObjectRoot(schema),
    gemini: () => toGeminiSchema(toObjectRoot(schema)),
    refusal: () => findAnthropicRefusal(describe('it', schema)),
    size: () => measureSchema(toStrictSchema(schema, OPENAI_RULES) ?? {}),
    nulls: () => drop({ it: null, a: 'x' }, schema),
    nested: () => drop(JSON.stringify({ it: Array.from({ length: 10_000 }, () => ({ p0: { p1: null } })) }), schema),
  };
  for (const [name, convert] of Object.entries(conversions)) {
    const startedAt = performance.now();
    convert();
    const tookMs = performance.now() - startedAt;
    expect(tookMs, name).toBeLessThan(LIMIT_MS);
  }
});

test('what is referred to in 5^60 ways is said as it is where the provider can say it', () => {
  const members = toLevels(60, (references) => ({
    type: 'object',
    properties: Object.fromEntries(references.map((reference, place) => [`p${place}`, reference])),
    required: references.map((_, place) => `p${place}`),
    additionalProperties: false,
  }));
  expect(Object.keys(Object(toStrictSchema(members, OPENAI_RULES)?.['$defs']))).toHaveLength(61);
  expect(Object.keys(Object(toStrictSchema(members, ANTHROPIC_RULES)?.['$defs']))).toHaveLength(61);
  const texts = toLevels(60, (references) => ({ anyOf: references }));
  expect(drop({ it: null }, texts)).toEqual({});
  const nulls = toLevels(60, (references) => ({ anyOf: references }), { last: { type: 'null' } });
  expect(drop({ it: null }, nulls)).toEqual({ it: null });
});

test('what is combined in 2^60 ways at the root keeps its members, and what each way requires', () => {
  const $defs = toLevels(60, (references) => ({ allOf: references }), {
    fan: 2,
    last: { properties: { a: { type: 'string' } }, required: ['a'] },
  })['$defs'];
  expect(toObjectRoot({ anyOf: [{ $ref: '#/$defs/d0' }, { $ref: '#/$defs/d1' }], $defs })).toEqual({
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    $defs,
  });
});

test('what the last of 2^60 ways requires is required', () => {
  const $defs = toLevels(60, (references) => ({ anyOf: references }), {
    fan: 2,
    last: { properties: { a: { type: 'string' } }, required: ['a'] },
  })['$defs'];
  const { required } = toObjectRoot({ oneOf: [{ $ref: '#/$defs/d0' }, { $ref: '#/$defs/d1' }], $defs });
  expect(required).toEqual(['a']);
});

test('a schema too large to be written anew is an object that takes anything, and not strict', () => {
  const parts = Array.from({ length: 30_000 }, (_, place) => ({ properties: { [`p${place}`]: {} } }));
  const schema = { description: 'Too much.', type: 'object', additionalProperties: false, allOf: parts };
  const open = { description: 'Too much.', type: 'object', properties: {} };
  expect(toObjectRoot(schema)).toEqual(open);
  const properties = Object.fromEntries(Array.from({ length: 60_000 }, (_, place) => [`p${place}`, {}]));
  const wide = { description: 'Too much.', type: 'object', properties };
  expect(toGeminiSchema(wide)).toEqual(open);
  expect(toStrictSchema({ ...wide, properties: { it: wide } }, ANTHROPIC_RULES)).toBeNull();
  // Nothing of it is written anew here.
  expect(toObjectRoot(wide)).toEqual(wide);
});

test('a list of 20 000 objects loses its nulls soon, however much is combined for each', () => {
  const item = toLevels(60, (references, level) => ({
    anyOf: references,
    properties: { [`p${level}`]: { type: 'string' } },
  }));
  const schema = { ...item, properties: { list: { type: 'array', items: { $ref: '#/$defs/d0' } } } };
  const given = { list: Array.from({ length: 20_000 }, () => ({ p0: null, p59: null, p60: null })) };
  const startedAt = performance.now();
  expect(drop(given, schema)).toEqual({ list: Array.from({ length: 20_000 }, () => ({ p60: null })) });
  expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS);
});

test('a tree of 30 000 nodes loses all its nulls, whichever way each of them takes', () => {
  const Node = {
    type: 'object',
    properties: {
      note: { type: 'string' },
      one: { anyOf: [{ $ref: '#/$defs/Node' }, { $ref: '#/$defs/More' }] },
      other: { anyOf: [{ $ref: '#/$defs/More' }, { $ref: '#/$defs/Node' }] },
    },
  };
  const More = { type: 'object', properties: { ...Node.properties, more: { type: 'string' } } };
  const schema = { type: 'object', properties: Node.properties, $defs: { Node, More } };
  const toTree = (levels: number): unknown =>
    levels === 0 ? { note: null, more: null } : { note: null, one: toTree(levels - 1), other: toTree(levels - 1) };
  const startedAt = performance.now();
  expect(JSON.stringify(drop(toTree(14), schema))).not.toContain('null');
  expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS);
});

test('a schema nested too deep to be written is an object that takes anything', () => {
  const [, deep = {}] = HOSTILE_SCHEMAS.find(([what]) => what === 'properties nested 5 000 deep') ?? [];
  expect(toObjectRoot({ ...deep, description: 'Too deep.' })).toEqual({
    type: 'object',
    description: 'Too deep.',
    properties: {},
  });
  expect(toGeminiSchema(deep)).toEqual({ type: 'object', properties: {} });
});
