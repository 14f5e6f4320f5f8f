import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import type { JsonSchema } from 'recourse-server/internal/contract/tool-description.ts';
import { expect, test } from 'vitest';
import { ANTHROPIC_RULES, OPENAI_RULES, toStrictSchema } from '#src/catalogue/strict-schema.ts';
import { dropOptionalNulls } from '#src/provider-calls.ts';

const createAjv = (): Ajv2020 => new Ajv2020({ strict: false, validateFormats: false, ownProperties: true });

type Json = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const recordOf = (value: unknown): Json => (isRecord(value) ? value : {});

/** Every schema within a schema, itself first. */
const allSchemas = (schema: Json): readonly Json[] => {
  const below = [
    ...Object.values(recordOf(schema['properties'])),
    ...Object.values(recordOf(schema['$defs'])),
    schema['items'],
    ...(Array.isArray(schema['anyOf']) ? schema['anyOf'] : []),
  ];
  return [schema, ...below.filter(isRecord).flatMap(allSchemas)];
};

// As the guides list them, written down a second time.
const OPENAI_KEYWORDS = [
  ...['type', 'title', 'description', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items'],
  ...['anyOf', '$ref', '$defs', 'pattern', 'format', 'multipleOf', 'maximum', 'exclusiveMaximum', 'minimum'],
  ...['exclusiveMinimum', 'minItems', 'maxItems'],
];
const ANTHROPIC_KEYWORDS = [
  ...['type', 'title', 'description', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items'],
  ...['anyOf', '$ref', '$defs', 'pattern', 'format', 'minItems'],
];

const findOffence = (schema: Json, keywords: readonly string[], all: 'required' | 'some'): string | null => {
  const offences = allSchemas(schema).map((part) => findPartOffence(part, keywords) ?? findObjectOffence(part, all));
  return offences.find((offence) => offence !== null) ?? (schema['type'] === 'object' ? null : 'root');
};

const findPartOffence = (part: Json, keywords: readonly string[]): string | null => {
  const strange = Object.keys(part).find((keyword) => !keywords.includes(keyword));
  if (strange !== undefined) return strange;
  if ('$ref' in part && Object.keys(part).length > 1) return 'beside $ref';
  return 'type' in part || 'anyOf' in part || '$ref' in part ? null : 'any type';
};

const findObjectOffence = (part: Json, all: 'required' | 'some'): string | null => {
  if (![part['type']].flat().includes('object')) return null;
  if (part['additionalProperties'] !== false) return 'open';
  const names = Object.keys(recordOf(part['properties']));
  return all === 'required' && JSON.stringify(part['required']) !== JSON.stringify(names) ? 'required' : null;
};

const NAMES = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'with space', 'ü');

/** Schemas as tools have them, and parts that no provider can say. */
const SCHEMAS = fc
  .letrec<{ node: JsonSchema; object: JsonSchema }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      fc.constantFrom<JsonSchema>({ type: 'string' }, { type: 'number' }, { type: 'integer' }, { type: 'boolean' }),
      fc.constantFrom<JsonSchema>(
        { type: 'string', minLength: 2, pattern: '^a+$' },
        { type: 'string', format: 'email', pattern: '^(?!\\.)a' },
        { type: 'number', minimum: 0, multipleOf: 2, default: 4 },
        { type: ['string', 'null'], description: 'Maybe.' },
        { enum: ['x', 'y'] },
        { type: 'string', enum: ['x', null] },
        { const: 'x' },
        { const: 7 },
        { $ref: '#/$defs/Leaf' },
        { $ref: '#/$defs/Node' },
        { allOf: [{ $ref: '#/$defs/Leaf' }], description: 'Wrapped.' },
      ),
      {
        weight: 1,
        arbitrary: fc.constantFrom<JsonSchema>(
          {},
          { type: 'object' },
          { type: 'array' },
          { not: {} },
          { $ref: 'http://x' },
        ),
      },
      tie('object'),
      tie('node').map((items) => ({ type: 'array', items, minItems: 0, uniqueItems: false })),
      fc.tuple(tie('node'), tie('node')).map(([one, other]) => ({ anyOf: [one, other], title: 'Either' })),
      fc.tuple(tie('node'), fc.constant({ type: 'null' })).map((parts) => ({ oneOf: parts })),
      tie('node').map((value) => ({ type: 'object', additionalProperties: value })),
    ),
    object: fc
      .uniqueArray(fc.tuple(NAMES, tie('node'), fc.boolean()), { maxLength: 4, selector: ([name]) => name })
      .map((members) => ({
        type: 'object',
        properties: Object.fromEntries(members.map(([name, schema]) => [name, schema])),
        required: members.filter(([, , required]) => required).map(([name]) => name),
        additionalProperties: false,
      })),
  }))
  .object.map((schema) => ({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema, $defs: DEFINITIONS }));

const DEFINITIONS = {
  Leaf: { type: 'string', maxLength: 5 },
  Node: {
    type: 'object',
    properties: { next: { $ref: '#/$defs/Node' }, name: { type: 'string' } },
    required: ['name'],
    additionalProperties: false,
  },
};

test("OpenAI: what is strict obeys the guide's rules, and enough is strict", () => {
  const ajv = createAjv();
  let strict = 0;
  const property = fc.property(SCHEMAS, (schema) => {
    const made = toStrictSchema(schema, OPENAI_RULES);
    if (made === null) return;
    strict += 1;
    expect(findOffence(made, OPENAI_KEYWORDS, 'required')).toBeNull();
    expect(ajv.validateSchema(made)).toBe(true);
  });
  fc.assert(property, { numRuns: 1000, seed: 7 });
  expect(strict).toBeGreaterThan(300);
});

test("Anthropic: what is strict obeys the guide's rules and never refers to itself", () => {
  let strict = 0;
  const property = fc.property(SCHEMAS, (schema) => {
    const made = toStrictSchema(schema, ANTHROPIC_RULES);
    if (made === null) return;
    strict += 1;
    expect(findOffence(made, ANTHROPIC_KEYWORDS, 'some')).toBeNull();
    expect(JSON.stringify(made)).not.toContain('#/$defs/Node');
  });
  fc.assert(property, { numRuns: 1000, seed: 7 });
  expect(strict).toBeGreaterThan(300);
});

type Member = {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly nullable: boolean;
};

const VALUES: fc.Arbitrary<Omit<Member, 'name'>> = fc.constantFrom(
  { schema: { type: 'string' }, value: 'a', nullable: false },
  { schema: { type: 'integer', minimum: 1 }, value: 3, nullable: false },
  { schema: { type: ['string', 'null'] }, value: null, nullable: true },
  { schema: { enum: ['x', 'y'] }, value: 'y', nullable: false },
  { schema: { const: 'x' }, value: 'x', nullable: false },
  { schema: { $ref: '#/$defs/Leaf' }, value: 'leaf', nullable: false },
  { schema: { anyOf: [{ type: 'string' }, { type: 'number' }] }, value: 5, nullable: false },
  { schema: { $ref: '#/$defs/Node' }, value: { name: 'n', next: { name: 'm' } }, nullable: false },
);

// Arguments with a `__proto__` are refused before a schema sees them.
const OBJECTS = fc.uniqueArray(
  fc.record({
    name: NAMES.filter((name) => name !== '__proto__'),
    of: VALUES,
    required: fc.boolean(),
    present: fc.boolean(),
    listed: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5, selector: ({ name }) => name },
);

test('what a strict model sends is what it meant, once its nulls are dropped', () => {
  const drop = dropOptionalNulls;
  const ajv = createAjv();
  const property = fc.property(OBJECTS, (members) => {
    const schemaOf = ({ of, listed }: (typeof members)[number]): JsonSchema =>
      listed ? { type: 'array', items: inObject(of.schema) } : of.schema;
    const inObject = (schema: JsonSchema): JsonSchema => ({
      type: 'object',
      properties: { in: schema },
      additionalProperties: false,
    });
    const schema = {
      type: 'object',
      properties: Object.fromEntries(members.map((member) => [member.name, schemaOf(member)])),
      required: members.filter(({ required }) => required).map(({ name }) => name),
      additionalProperties: false,
      $defs: DEFINITIONS,
    };
    const given = members.filter(({ required, present }) => required || present);
    const meant = Object.fromEntries(
      given.map(({ name, of, listed }) => [name, listed ? [{ in: of.value }, {}] : of.value]),
    );
    const strict = toStrictSchema(schema, OPENAI_RULES) ?? {};
    const filled = fill(meant, strict, strict);
    expect(ajv.validate(strict, filled)).toBe(true);
    const understood = drop(JSON.stringify(filled), schema);
    const kept = typeof understood === 'string' ? JSON.parse(understood) : understood;
    // A property that takes null anyway is sent as null.
    expect(withoutNulls(kept)).toEqual(withoutNulls(meant));
    expect(ajv.validate(schema, kept)).toBe(true);
  });
  fc.assert(property, { numRuns: 100, seed: 11 });
});

/** Every property of every object that the schema lists, as a strict model must send it: null where nothing was meant. */
const fill = (value: unknown, schema: Json, root: Json): unknown => {
  const reference = /^#\/\$defs\/(.*)$/.exec(String(schema['$ref']))?.[1];
  if (reference !== undefined) return fill(value, recordOf(recordOf(root['$defs'])[reference]), root);
  const way =
    Array.isArray(schema['anyOf']) && isRecord(value) ? schema['anyOf'].find((part) => '$ref' in part) : undefined;
  if (way !== undefined) return fill(value, way, root);
  if (Array.isArray(value)) return value.map((item) => fill(item, recordOf(schema['items']), root));
  if (!isRecord(value)) return value;
  const properties = Object.entries(recordOf(schema['properties']));
  return Object.fromEntries(
    properties.map(([name, property]) => [
      name,
      Object.hasOwn(value, name) ? fill(value[name], recordOf(property), root) : null,
    ]),
  );
};

const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => (member === null ? [] : [[name, withoutNulls(member)]])),
  );
};
