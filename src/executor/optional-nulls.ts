import { acceptsNull, resolveReference } from '../contract/accepts-null.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import { findShapeProblem } from './json-shape.ts';
import { parseJson } from './parse-json.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Gives arguments back without the nulls that stand for "left out"; the same value where there are none. */
export type DropOptionalNulls = (given: unknown, schema: JsonSchema) => unknown;

/**
 * For arguments that a strict model wrote: it must name every property, and says null where one is optional. A null is
 * dropped only where the property may be left out and its own schema refuses null. What the executor refuses for its shape
 * is left to it as it was sent. What there is to drop of a schema is found out once.
 */
export const createDropOptionalNulls = (): DropOptionalNulls => {
  const known = new WeakMap<JsonSchema, boolean>();
  const mayDrop = (schema: JsonSchema): boolean => {
    const may = known.get(schema) ?? hasDroppable(schema);
    known.set(schema, may);
    return may;
  };
  return (given, schema) => {
    if (!mayDrop(schema)) return given;
    return typeof given === 'string' ? dropFromText(given, schema) : dropFrom(given, [schema], schema, 1);
  };
};

const dropFromText = (given: string, schema: JsonSchema): unknown => {
  if (!given.includes('null')) return given;
  const parsed = parseJson(given);
  // Only the text tells of a number that lost digits: from here on it would be gone.
  if (!parsed.ok || !isObject(parsed.value) || findShapeProblem(parsed.value, given) !== null) return given;
  const kept = dropFrom(parsed.value, [schema], schema, 1);
  return kept === parsed.value ? given : kept;
};

// As deep as the executor takes arguments.
const MAX_DEPTH = 64;

const dropFrom = (value: unknown, schemas: readonly JsonObject[], root: JsonSchema, depth: number): unknown => {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  const ways = toParts(schemas, root);
  if (Array.isArray(value)) {
    const inner = ways.map(({ items }) => items).filter(isObject);
    if (inner.length === 0) return value;
    const kept = value.map((item: unknown) => dropFrom(item, inner, root, depth + 1));
    return kept.some((item, place) => item !== value[place]) ? kept : value;
  }
  const entries = Object.entries(value);
  const kept = entries
    .filter(([name, member]) => member !== null || !isDroppable(name, ways, root))
    .map(
      ([name, member]) => [name, dropFrom(member, propertiesOf(name, ways).filter(isObject), root, depth + 1)] as const,
    );
  const same = kept.length === entries.length && kept.every(([, member], place) => member === entries[place]?.[1]);
  return same ? value : Object.fromEntries(kept);
};

/** Whether all of them that know the property let it be left out, and none takes null for it. */
const isDroppable = (name: string, ways: readonly JsonObject[], root: JsonSchema): boolean => {
  const known = propertiesOf(name, ways);
  return (
    known.length > 0 && known.every((schema) => !acceptsNull(schema, root)) && !ways.some((way) => requires(way, name))
  );
};

const requires = ({ required }: JsonObject, name: string): boolean =>
  Array.isArray(required) && required.includes(name);

const propertiesOf = (name: string, ways: readonly JsonObject[]): readonly unknown[] =>
  ways.flatMap(({ properties }) => (isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : []));

/** These schemas and all that they refer to or combine for the same value. */
const toParts = (schemas: readonly JsonObject[], root: JsonSchema): readonly JsonObject[] => {
  const found = new Set(schemas);
  // A set that grows while it is walked is walked to its end, and a circle of references ends.
  for (const schema of found) {
    const combined = [schema['anyOf'], schema['oneOf'], schema['allOf']].flatMap((list) =>
      Array.isArray(list) ? list.filter(isObject) : [],
    );
    for (const part of [...combined, resolveReference(schema['$ref'], root)]) if (isObject(part)) found.add(part);
  }
  return [...found];
};

const hasDroppable = (root: JsonSchema): boolean => {
  const found = new Set<JsonObject>([root]);
  for (const schema of found) {
    const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
    if (properties.some(([name, property]) => !requires(schema, name) && !acceptsNull(property, root))) return true;
    const below = [...properties.map(([, property]) => property), schema['items']].filter(isObject);
    for (const part of [...toParts([schema], root), ...below]) found.add(part);
  }
  return false;
};
