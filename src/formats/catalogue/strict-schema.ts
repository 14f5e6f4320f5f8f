import { acceptsNull } from '../../contract/accepts-null.ts';
import type { JsonSchema } from '../../contract/tool-description.ts';
import { findCircles } from './circles.ts';
import { isTooLarge } from './large-schema.ts';
import {
  definitionOf,
  isSchema,
  pick,
  propertiesOf,
  referencesIn,
  requiredOf,
  schemasIn,
  tellRules,
  typesOf,
} from './schema-parts.ts';
import { toNullable } from './to-nullable.ts';

/** What a provider takes of JSON Schema where it promises arguments that fit. */
export type StrictRules = {
  /** Kept of a schema with these types; `*` of any. What is no structure and is not listed is dropped. */
  readonly kept: Readonly<Record<string, readonly string[]>>;
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
  const body = toObject({ additionalProperties: false, ...root, type: 'object' }, context, 0);
  const definitions = body === null ? null : toDefinitions(context);
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
const toDefinitions = (context: Context): ReadonlyMap<string, JsonSchema> | null => {
  const all = new Map(isSchema(context.root['$defs']) ? Object.entries(context.root['$defs']) : []);
  const converted = new Map<string, JsonSchema>();
  // A set that grows while it is walked is walked to its end.
  for (const name of context.referred) {
    const target = all.get(name);
    const definition = isSchema(target) ? toNode(target, context, 0) : null;
    if (definition === null) return null;
    converted.set(name, definition);
  }
  return context.rules.recursion === 'refused' && holdsCircle(converted) ? null : converted;
};

const holdsCircle = (definitions: ReadonlyMap<string, JsonSchema>): boolean =>
  findCircles(new Map([...definitions].map(([name, definition]) => [name, referencesIn(definition)]))).size > 0;

type Convert = (schema: JsonSchema, context: Context, depth: number) => JsonSchema | null;

const toNode: Convert = (schema, context, depth) =>
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

const toReference: Convert = ({ $ref: reference }, { rules, referred }) => {
  if (reference === '#') return rules.recursion === 'allowed' ? { $ref: reference } : null;
  const name = definitionOf(reference);
  if (name === null) return null;
  referred.add(name);
  return { $ref: reference };
};

// Several parts would have to be made one; a single one, as generators write it around a reference, says the same alone.
const toSingle: Convert = ({ allOf }, context, depth) => {
  const [only, ...more] = schemasIn(allOf);
  return only === undefined || more.length > 0 ? null : toNode(only, context, depth + 1);
};

const toUnion: Convert = (schema, context, depth) => {
  const parts = [schema['anyOf'] ?? schema['oneOf']].flat();
  const ways = parts.map((part) => (isSchema(part) ? toNode(part, context, depth + 1) : null));
  return ways.length === 0 || ways.includes(null) ? null : { ...tellRules(schema, {}), anyOf: ways };
};

const toObject: Convert = (schema, context, depth) => {
  const properties = propertiesOf(schema);
  const required = new Set(requiredOf(schema));
  const names = properties.map(([name]) => name);
  const known = new Set(names);
  if (!isClosed(schema, names.length) || ![...required].every((name) => known.has(name))) return null;
  const members = properties.map(([name, property]) => toProperty(property, required.has(name), context, depth));
  if (members.includes(null)) return null;
  return {
    ...toKept(schema, context.rules),
    type: schema['type'],
    properties: Object.fromEntries(names.map((name, place) => [name, members[place]])),
    required: context.rules.optional === 'nullable' ? names : [...required],
    additionalProperties: false,
  };
};

/** Whether nothing but the listed properties is meant: a map, or a free-form object, cannot be said. */
const isClosed = ({ additionalProperties }: JsonSchema, properties: number): boolean =>
  additionalProperties === false || (additionalProperties === undefined && properties > 0);

const toProperty = (property: unknown, isRequired: boolean, context: Context, depth: number): JsonSchema | null => {
  const node = isSchema(property) ? toNode(property, context, depth + 1) : null;
  const stays = isRequired || context.rules.optional === 'left out' || acceptsNull(property, context.root);
  return node === null || stays ? node : toNullable(node);
};

const toArray: Convert = (schema, context, depth) => {
  const items = isSchema(schema['items']) ? toNode(schema['items'], context, depth + 1) : null;
  return items === null ? null : { ...toKept(schema, context.rules), type: schema['type'], items };
};

const toLiteral: Convert = (schema, { rules }) => {
  const declared = typesOf(schema);
  const given = 'const' in schema ? [schema['const']] : [schema['enum']].flat();
  const values = given.filter((value) => declared.length === 0 || fitsType(value, declared));
  if (values.length === 0 || values.some((value) => typeof value === 'object' && value !== null)) return null;
  const types = [...new Set(values.map(typeOf))];
  const literal = 'const' in schema ? { const: schema['const'] } : { enum: values };
  return { ...toKept(schema, rules), type: types.length === 1 ? types[0] : types, ...literal };
};

const fitsType = (value: unknown, types: readonly string[]): boolean =>
  types.includes(typeOf(value)) || (typeof value === 'number' && types.includes('number'));

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
};

const toKept = (schema: JsonSchema, rules: StrictRules): JsonSchema => {
  const keywords = new Set(['*', ...typesOf(schema)].flatMap((type) => rules.kept[type] ?? []));
  const kept = Object.fromEntries(
    Object.entries(pick(schema, keywords)).filter(([keyword, value]) => rules.takes(keyword, value)),
  );
  return { ...kept, ...tellRules(schema, kept) };
};

const CONVERT: Readonly<Record<Kind, Convert>> = {
  inexpressible: () => null,
  reference: toReference,
  wrapper: toSingle,
  union: toUnion,
  literal: toLiteral,
  object: toObject,
  array: toArray,
  plain: (schema, { rules }) => ({ ...toKept(schema, rules), type: schema['type'] }),
};
