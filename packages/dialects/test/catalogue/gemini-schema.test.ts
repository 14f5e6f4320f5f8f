import { expect, test } from 'vitest';
import { toGeminiSchema } from '#src/catalogue/gemini-schema.ts';

test('only listed keywords are left, and the rules that are lost are told', () => {
  expect(
    toGeminiSchema({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        kind: { const: 'a' },
        flag: { const: true },
        mixed: { enum: ['a', null] },
        count: { type: 'integer', exclusiveMinimum: 0, description: 'How many.' },
        either: { oneOf: [{ type: 'string' }, { type: 'number' }] },
        any: true,
        more: { allOf: [{ type: 'string', pattern: '^a' }] },
        pair: { type: 'array', prefixItems: [{ type: 'string' }] },
      },
      patternProperties: { '^x': {} },
      required: ['kind'],
      additionalProperties: { type: 'string', examples: ['a'] },
    }),
  ).toEqual({
    type: 'object',
    properties: {
      kind: { enum: ['a'] },
      flag: {},
      mixed: {},
      count: { type: 'integer', description: 'How many. (exclusiveMinimum: 0)' },
      either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
      any: {},
      more: { type: 'string', description: '(pattern: "^a")' },
      pair: { type: 'array', prefixItems: [{ type: 'string' }] },
    },
    required: ['kind'],
    additionalProperties: { type: 'string' },
  });
});

test('a circle of references is closed by what may be left out, and nothing stands beside a reference', () => {
  expect(
    toGeminiSchema({
      type: 'object',
      properties: { tree: { $ref: '#/$defs/Tree', description: 'All of it.' } },
      required: ['tree'],
      $defs: {
        Tree: {
          type: 'object',
          properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/Tree' } } },
          required: ['name', 'children'],
        },
      },
    }),
  ).toEqual({
    type: 'object',
    properties: { tree: { $ref: '#/$defs/Tree' } },
    required: ['tree'],
    $defs: {
      Tree: {
        type: 'object',
        properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/Tree' } } },
        required: ['name'],
      },
    },
  });
});
