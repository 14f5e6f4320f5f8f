import type { JsonSchema } from 'recourse-server/internal/contract/tool-description.ts';
import { expect, test } from 'vitest';
import { ANTHROPIC_RULES, OPENAI_RULES, toStrictSchema } from '#src/catalogue/strict-schema.ts';

test.each([
  ['a free-form object', { type: 'object' }],
  ['a map', { type: 'object', additionalProperties: { type: 'string' } }],
  ['an open object', { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true }],
  ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }] }],
  ['a list of anything', { type: 'array' }],
  ['a value of any type', {}],
  ['several parts of one value', { allOf: [{ type: 'string' }, { minLength: 1 }] }],
  ['a literal that is an object', { const: { a: 1 } }],
  ['a reference elsewhere', { $ref: 'https://example.com/schema' }],
  ['a reference to nothing', { $ref: '#/$defs/Nobody' }],
])('%s cannot be said strictly', (_what, schema) => {
  const root = { type: 'object', properties: { it: schema }, required: ['it'] };
  expect(toStrictSchema(root, OPENAI_RULES)).toBeNull();
  expect(toStrictSchema(root, ANTHROPIC_RULES)).toBeNull();
});

test('a schema over the limits of OpenAI cannot be said strictly', () => {
  const nest = (levels: number): JsonSchema =>
    levels === 0 ? { type: 'string' } : { type: 'object', properties: { in: nest(levels - 1) }, required: ['in'] };
  expect(toStrictSchema(nest(10), OPENAI_RULES)).not.toBeNull();
  expect(toStrictSchema(nest(11), OPENAI_RULES)).toBeNull();
  expect(toStrictSchema(nest(4000), OPENAI_RULES)).toBeNull();
  const many = (count: number) => ({
    type: 'object',
    properties: { it: { enum: Array.from({ length: count }, (_, place) => `v${place}`) } },
    required: ['it'],
  });
  expect(toStrictSchema(many(1000), OPENAI_RULES)).not.toBeNull();
  expect(toStrictSchema(many(1001), OPENAI_RULES)).toBeNull();
});

test.each(['^(?=a)', '^(?!a)', '(?<=a)b', '(a)\\1', '\\bword', '\\p{L}', 'x'.repeat(501)])(
  'the pattern %s is for the service alone',
  (pattern) => {
    const schema = { type: 'object', properties: { it: { type: 'string', pattern } }, required: ['it'] };
    for (const rules of [OPENAI_RULES, ANTHROPIC_RULES]) {
      expect(JSON.stringify(toStrictSchema(schema, rules))).not.toContain('"pattern":');
    }
  },
);

test.each(['^[a-z]+$', '^(?:a|b){2}\\.$'])('the pattern %s is enforced by providers, too', (pattern) => {
  const schema = { type: 'object', properties: { it: { type: 'string', pattern } }, required: ['it'] };
  for (const rules of [OPENAI_RULES, ANTHROPIC_RULES])
    expect(toStrictSchema(schema, rules)?.['properties']).toEqual({ it: { type: 'string', pattern } });
});
