import { acceptsNull, resolveReference } from '../contract/accepts-null.ts';
import type { JsonSchema } from '../contract/tool-description.ts';

/** What a schema says of one place in a value, whichever of its ways the value takes. */
export type SchemaPlace = {
  /** The place of each item of a list; null where nothing is said of it. */
  readonly item: () => SchemaPlace | null;
  readonly member: (name: string) => SchemaMember;
};

export type SchemaMember = {
  /** `not_null`: all ways that know it let it be left out, and none takes null for it. */
  readonly kind: 'not_null' | 'other';
  readonly place: SchemaPlace | null;
};

// One schema may be in a hundred thousand places, each with parts of its own: further ones are not looked into.
const MOST_PARTS = 200_000;

/** The place of a whole value. Made for one value: what it finds out of further places it keeps. */
export const createSchemaPlace = (root: JsonSchema): SchemaPlace | null => {
  const numbers = new Map<JsonSchema, number>();
  const known = new Map<string, SchemaPlace | null>();
  let partsLeft = MOST_PARTS;
  const numberOf = (schema: JsonSchema): number => {
    const number = numbers.get(schema) ?? numbers.size;
    numbers.set(schema, number);
    return number;
  };
  const toPlace = (given: readonly unknown[]): SchemaPlace | null => {
    const schemas = [...new Set(given.filter(isObject))];
    const key = schemas.map(numberOf).join(' ');
    const found = known.get(key);
    if (found !== undefined || schemas.length === 0 || partsLeft <= 0) return found ?? null;
    const ways = toWays(schemas, root, partsLeft);
    const members = Map.groupBy(ways.flatMap(toProperties), ([name]) => name);
    partsLeft -= ways.length + members.size;
    const place = createPlace({ ways, members, root, toPlace });
    known.set(key, place);
    return place;
  };
  return toPlace([root]);
};

type Property = readonly [name: string, schema: unknown];

type PlaceParts = {
  readonly ways: readonly JsonSchema[];
  readonly members: ReadonlyMap<string, readonly Property[]>;
  readonly root: JsonSchema;
  readonly toPlace: (schemas: readonly unknown[]) => SchemaPlace | null;
};

const UNKNOWN: SchemaMember = { kind: 'other', place: null };

const createPlace = ({ ways, members, root, toPlace }: PlaceParts): SchemaPlace => {
  const required = new Set(ways.flatMap(requiredOf));
  const known = new Map<string, SchemaMember>();
  let itemPlace: SchemaPlace | null | undefined;
  const toMember = (name: string, properties: readonly Property[]): SchemaMember => {
    const schemas = properties.map(([, schema]) => schema);
    const mayGo = !required.has(name) && schemas.every((schema) => !acceptsNull(schema, root));
    return { kind: mayGo ? 'not_null' : 'other', place: toPlace(schemas) };
  };
  return {
    item: () => {
      itemPlace = itemPlace === undefined ? toPlace(ways.map(({ items }) => items)) : itemPlace;
      return itemPlace;
    },
    member: (name) => {
      const properties = members.get(name);
      if (properties === undefined) return UNKNOWN;
      const member = known.get(name) ?? toMember(name, properties);
      known.set(name, member);
      return member;
    },
  };
};

// A schema with more is not written strictly, and no model says null for what it leaves out.
const MOST_SEARCHED = 50_000;

/** Whether there may be a property anywhere that can be left out and does not take null. */
export const mayRefuseNull = (root: JsonSchema): boolean => {
  const found = new Set([root]);
  // A set that grows while it is walked is walked to its end, and a circle of references ends.
  for (const schema of found) {
    if (found.size > MOST_SEARCHED) return false;
    const properties = toProperties(schema);
    const required = new Set(requiredOf(schema));
    if (properties.some(([name, property]) => !required.has(name) && !acceptsNull(property, root))) return true;
    const below = [...properties.map(([, property]) => property), schema['items'], ...combinedBy(schema, root)];
    for (const part of below) if (isObject(part)) found.add(part);
  }
  return false;
};

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const toProperties = ({ properties }: JsonSchema): readonly Property[] =>
  isObject(properties) ? Object.entries(properties) : [];

const requiredOf = ({ required }: JsonSchema): readonly unknown[] => (Array.isArray(required) ? required : []);

/** What a schema refers to or combines for the same value. */
const combinedBy = (schema: JsonSchema, root: JsonSchema): readonly unknown[] => [
  ...[schema['anyOf'], schema['oneOf'], schema['allOf']].filter(Array.isArray).flat(),
  resolveReference(schema['$ref'], root),
];

/** These schemas and all that they refer to or combine for the same value; none where there are more than `most`. */
const toWays = (schemas: readonly JsonSchema[], root: JsonSchema, most: number): readonly JsonSchema[] => {
  const found = new Set(schemas);
  for (const schema of found) {
    if (found.size > most) return [];
    for (const part of combinedBy(schema, root)) if (isObject(part)) found.add(part);
  }
  return [...found];
};
