import type { JsonSchema } from '../contract/tool-description.ts';
import { parseJson } from '../json/parse-json.ts';
import { createWideLiterals, findShapeProblem } from './json-shape.ts';
import { createSchemaPlace, mayRefuseNull, type SchemaPlace } from './schema-places.ts';

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
    const may = known.get(schema) ?? mayRefuseNull(schema);
    known.set(schema, may);
    return may;
  };
  return (given, schema) => {
    if (!mayDrop(schema)) return given;
    return typeof given === 'string' ? dropFromText(given, schema) : dropFrom(given, createSchemaPlace(schema), 1);
  };
};

const dropFromText = (given: string, schema: JsonSchema): unknown => {
  if (!given.includes('null')) return given;
  const parsed = parseJson(given);
  // Only the text tells of a number that lost digits: from here on it would be gone.
  if (!parsed.ok || !isObject(parsed.value) || findShapeProblem(parsed.value, createWideLiterals(given)) !== null)
    return given;
  const kept = dropFrom(parsed.value, createSchemaPlace(schema), 1);
  return kept === parsed.value ? given : kept;
};

// As deep as the executor takes arguments.
const MAX_DEPTH = 64;

const dropFrom = (value: unknown, place: SchemaPlace | null, depth: number): unknown => {
  if (typeof value !== 'object' || value === null || place === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    const item = place.item();
    const kept = item === null ? value : value.map((member: unknown) => dropFrom(member, item, depth + 1));
    return kept.some((member, position) => member !== value[position]) ? kept : value;
  }
  const entries = Object.entries(value);
  const kept = entries
    .map(([name, member]) => ({ name, member, known: place.member(name) }))
    .filter(({ member, known }) => member !== null || known.kind !== 'not_null')
    .map(({ name, member, known }) => [name, dropFrom(member, known.place, depth + 1)] as const);
  const same =
    kept.length === entries.length && kept.every(([, member], position) => member === entries[position]?.[1]);
  return same ? value : Object.fromEntries(kept);
};
