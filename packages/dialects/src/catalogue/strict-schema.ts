import type { JsonSchema } from 'recourse-server/contract/tool-description';
import { acceptsNull } from './accepts-null.ts';
import {
  definitionOf,
  describeRules,
  isSchema,
  isTooLarge,
  leadsTo,
  pick,
  propertiesOf,
  referencesOf,
  remembering,
  requiredOf,
  schemasIn,
  typesOf,
} from './schema-parts.ts';

/** What a provider takes of JSON Schema where it promises arguments that fit. */
type StrictRules = {
  /** Kept of a schema with these types; `*` of any. What is no structure and is not listed is dropped. */
  readonly supported: Readonly<Record<string, readonly string[]>>;
  /** Whether a value of a kept keyword is one the provider takes. */
  readonly takes: (keyword: string, value: unknown) => boolean;
  /** `nullable`: every property is required, and an optional one may be null instead. */
  readonly optional: 'nullable' | 'left out';
  readonly recursion: 'allowed' | 'refused';
  /** Whether the whole is small enough. */
  readonly fits: (schema: JsonSchema) => boolean;
};

/**
 * A tool's input schema as a strict model is held to it, or null where the provider's subset cannot say it: free-form
 * objects, tuples, values of any type. Rules that no provider enforces are told in the description; the service judges
 * by the whole schema all the same.
 */
export const toStrictSchema = (root: JsonSchema, rules: StrictRules): JsonSchema | null => {
  if (ROOT_REFUSED.some((keyword) => keyword in root) || isTooLarge(root)) return null;
  const context: Context = { root, rules, referred: new Set() };
  const body = convertObject({ additionalProperties: false, ...root, type: 'object' }, context, 0);
  const definitions = body === null ? null : convertDefinitions(context);
  if (body === null || definitions === null) return null;
  const whole = definitions.size === 0 ? body : { ...body, $defs: Object.fromEntries(definitions) };
  return rules.fits(whole) ? whole : null;
};

const ROOT_REFUSED = ['anyOf', 'oneOf', 'allOf', '$ref', 'patternProperties'];
// Further down nobody has written anything by hand.
const MAX_DEPTH = 64;

type Context = {
  readonly root: JsonSchema;
  readonly rules: StrictRules;
  /** Names of the definitions that were referred to. */
  readonly referred: Set<string>;
};

/** All that is referred to, one after the other: a chain of them may be longer than the stack. */
const convertDefinitions = (context: Context): ReadonlyMap<string, JsonSchema> | null => {
  const all = new Map(isSchema(context.root['$defs']) ? Object.entries(context.root['$defs']) : []);
  const converted = new Map<string, JsonSchema>();
  // A set that grows while it is walked is walked to its end.
  for (const name of context.referred) {
    const target = all.get(name);
    const definition = isSchema(target) ? convertNode(target, context, 0) : null;
    if (definition === null) return null;
    converted.set(name, definition);
  }
  return context.rules.recursion === 'refused' && containsCircle(converted) ? null : converted;
};

const containsCircle = (definitions: ReadonlyMap<string, JsonSchema>): boolean => {
  const references = referencesOf(definitions);
  return [...references].some(([name, targets]) => leadsTo(targets, name, references));
};

type Convert = (schema: JsonSchema, context: Context, depth: number) => JsonSchema | null;

const convertNode: Convert = (schema, context, depth) =>
  depth > MAX_DEPTH ? null : CONVERT[kindOf(schema)](schema, context, depth);

type Kind = 'inexpressible' | 'reference' | 'wrapper' | 'union' | 'literal' | 'object' | 'array' | 'plain';

const kindOf = (schema: JsonSchema): Kind => {
  if (INEXPRESSIBLE.some((keyword) => keyword in schema)) return 'inexpressible';
  const [combination, ...more] = COMBINATIONS.filter(([keyword]) => keyword in schema);
  if (combination === undefined) return 'enum' in schema || 'const' in schema ? 'literal' : kindOfType(typesOf(schema));
  return more.length > 0 || hasStructure(schema) ? 'inexpressible' : combination[1];
};

const kindOfType = (types: readonly string[]): Kind => {
  const [container, ...more] = types.filter((type) => type === 'object' || type === 'array');
  if (types.length === 0 || more.length > 0) return 'inexpressible';
  return container ?? 'plain';
};

// Each changes which values are meant, and no provider's subset has it.
const INEXPRESSIBLE = ['patternProperties', 'prefixItems', 'additionalItems', 'dependentSchemas', '$dynamicRef'];
const COMBINATIONS = [
  ['$ref', 'reference'],
  ['allOf', 'wrapper'],
  ['anyOf', 'union'],
  ['oneOf', 'union'],
] as const satisfies readonly (readonly [string, Kind])[];

// What stands beside a combination would hold for all of it.
const STRUCTURE = ['properties', 'items', 'enum', 'const', 'required', 'additionalProperties'];
const hasStructure = (schema: JsonSchema): boolean => STRUCTURE.some((keyword) => keyword in schema);

const convertReference: Convert = ({ $ref: reference }, { rules, referred }) => {
  if (reference === '#') return rules.recursion === 'allowed' ? { $ref: reference } : null;
  const name = definitionOf(reference);
  if (name === null) return null;
  referred.add(name);
  return { $ref: reference };
};

// Several parts would have to be made one; a single one, as generators write it around a reference, says the same alone.
const convertWrapper: Convert = ({ allOf }, context, depth) => {
  const [only, ...more] = schemasIn(allOf);
  return only === undefined || more.length > 0 ? null : convertNode(only, context, depth + 1);
};

const convertUnion: Convert = (schema, context, depth) => {
  const parts = [schema['anyOf'] ?? schema['oneOf']].flat();
  const ways = parts.map((part) => (isSchema(part) ? convertNode(part, context, depth + 1) : null));
  return ways.length === 0 || ways.includes(null) ? null : { ...describeRules(schema, {}), anyOf: ways };
};

const convertObject: Convert = (schema, context, depth) => {
  const properties = propertiesOf(schema);
  const required = new Set(requiredOf(schema));
  const names = properties.map(([name]) => name);
  const known = new Set(names);
  if (!isClosed(schema, names.length) || ![...required].every((name) => known.has(name))) return null;
  const members = properties.map(([name, property]) => convertProperty(property, required.has(name), context, depth));
  if (members.includes(null)) return null;
  return {
    ...pickKept(schema, context.rules),
    type: schema['type'],
    properties: Object.fromEntries(names.map((name, place) => [name, members[place]])),
    required: context.rules.optional === 'nullable' ? names : [...required],
    additionalProperties: false,
  };
};

/** Whether nothing but the listed properties is meant: a map, or a free-form object, cannot be said. */
const isClosed = ({ additionalProperties }: JsonSchema, properties: number): boolean =>
  additionalProperties === false || (additionalProperties === undefined && properties > 0);

const convertProperty = (
  property: unknown,
  isRequired: boolean,
  context: Context,
  depth: number,
): JsonSchema | null => {
  const node = isSchema(property) ? convertNode(property, context, depth + 1) : null;
  const stays = isRequired || context.rules.optional === 'left out' || acceptsNull(property, context.root);
  return node === null || stays ? node : makeNullable(node);
};

const convertArray: Convert = (schema, context, depth) => {
  const items = isSchema(schema['items']) ? convertNode(schema['items'], context, depth + 1) : null;
  return items === null ? null : { ...pickKept(schema, context.rules), type: schema['type'], items };
};

const convertLiteral: Convert = (schema, { rules }) => {
  const declared = typesOf(schema);
  const given = 'const' in schema ? [schema['const']] : [schema['enum']].flat();
  const values = given.filter((value) => declared.length === 0 || fitsType(value, declared));
  if (values.length === 0 || values.some((value) => typeof value === 'object' && value !== null)) return null;
  const types = [...new Set(values.map(typeOf))];
  const literal = 'const' in schema ? { const: schema['const'] } : { enum: values };
  return { ...pickKept(schema, rules), type: types.length === 1 ? types[0] : types, ...literal };
};

const fitsType = (value: unknown, types: readonly string[]): boolean =>
  types.includes(typeOf(value)) || (typeof value === 'number' && types.includes('number'));

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
};

const pickKept = (schema: JsonSchema, rules: StrictRules): JsonSchema => {
  const keywords = new Set(['*', ...typesOf(schema)].flatMap((type) => rules.supported[type] ?? []));
  const kept = Object.fromEntries(
    Object.entries(pick(schema, keywords)).filter(([keyword, value]) => rules.takes(keyword, value)),
  );
  return { ...kept, ...describeRules(schema, kept) };
};

const CONVERT: Readonly<Record<Kind, Convert>> = {
  inexpressible: () => null,
  reference: convertReference,
  wrapper: convertWrapper,
  union: convertUnion,
  literal: convertLiteral,
  object: convertObject,
  array: convertArray,
  plain: (schema, { rules }) => ({ ...pickKept(schema, rules), type: schema['type'] }),
};

/** The same schema that also takes null. */
const makeNullable = (schema: JsonSchema): JsonSchema => {
  if (Array.isArray(schema['anyOf'])) return { ...schema, anyOf: [...schema['anyOf'], NULL] };
  if (typesOf(schema).length === 0 || 'const' in schema) return { anyOf: [schema, NULL] };
  const literals = Array.isArray(schema['enum']) ? { enum: [...schema['enum'], null] } : {};
  return { ...schema, type: [...typesOf(schema), 'null'], ...literals };
};

const NULL = { type: 'null' } as const;

/** How much of what providers limit a strict schema has; what it refers to is counted once, where it is defined. */
export const measureSchema = remembering((schema) => {
  const counts = {
    properties: 0,
    enumValues: 0,
    /** Characters of all names of properties and definitions, and of all literals. */
    namesLength: 0,
    /** Properties that may be left out. */
    optional: 0,
    /** Properties that take several types. */
    unions: 0,
  };
  return { depth: count(schema, counts), ...counts };
});

/** Adds what is in a schema to the counts; gives how deep objects are within objects. */
// Recursive: the parts of a strict schema are at most 64 levels deep.
const count = (
  schema: JsonSchema,
  counts: { properties: number; enumValues: number; namesLength: number; optional: number; unions: number },
): number => {
  const properties = propertiesOf(schema);
  const definitions = isSchema(schema['$defs']) ? Object.entries(schema['$defs']) : [];
  const literals = Array.isArray(schema['enum']) ? schema['enum'] : [];
  const named = [...properties, ...definitions];
  const required = new Set(requiredOf(schema));
  counts.properties += properties.length;
  counts.enumValues += literals.length;
  for (const text of [...named.map(([name]) => name), ...literals, schema['const'] ?? ''])
    counts.namesLength += String(text).length;
  counts.optional += properties.filter(([name]) => !required.has(name)).length;
  counts.unions += 'anyOf' in schema || Array.isArray(schema['type']) ? 1 : 0;
  const inside = [...named.map(([, part]) => part), schema['items'], ...schemasIn(schema['anyOf'])].filter(isSchema);
  const own = properties.length > 0 ? 1 : 0;
  return own + inside.reduce((deepest, part) => Math.max(deepest, count(part, counts)), 0);
};

const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];
const NUMBER = ['multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'];

/** Whether a provider that takes these formats takes a value of a kept keyword. */
const takesOf =
  (formats: readonly unknown[]): StrictRules['takes'] =>
  (keyword, value) => {
    if (keyword === 'format') return formats.includes(value);
    return keyword !== 'pattern' || isSimplePattern(value);
  };

/** OpenAI's Structured Outputs: the supported schemas of its guide (platform.openai.com, structured outputs). */
export const OPENAI_RULES: StrictRules = {
  supported: {
    '*': ['title'],
    string: ['pattern', 'format'],
    number: NUMBER,
    integer: NUMBER,
    array: ['minItems', 'maxItems'],
  },
  takes: takesOf(FORMATS),
  optional: 'nullable',
  recursion: 'allowed',
  fits: (schema) => {
    const { depth, properties, enumValues, namesLength } = measureSchema(schema);
    return depth <= 10 && properties <= 5000 && enumValues <= 1000 && namesLength <= 120_000;
  },
};

const takesOfAnthropic = takesOf([...FORMATS, 'uri']);

/** Anthropic's strict tool use: the JSON Schema limitations of its structured outputs (platform.claude.com). */
export const ANTHROPIC_RULES: StrictRules = {
  supported: { '*': ['title'], string: ['pattern', 'format'], array: ['minItems'] },
  takes: (keyword, value) => (keyword === 'minItems' ? value === 0 || value === 1 : takesOfAnthropic(keyword, value)),
  optional: 'left out',
  recursion: 'refused',
  fits: () => true,
};

/** Whether a regular expression does without what the grammars of providers lack: looking around, back-references, `\b`, `\p`. */
const isSimplePattern = (pattern: unknown): boolean =>
  typeof pattern === 'string' && pattern.length <= 500 && !/\(\?(?!:)|\\[1-9bBkpP]/.test(pattern);
