import { isRecord } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import type { CallReading } from 'recourse-server/executor/batch-request';
import { createWideLiterals, findShapeProblem } from 'recourse-server/executor/parse-arguments';
import { parseJson } from 'recourse-server/json/parse-json';
import type { Dialects } from 'recourse-server/routes/dialects';
import { acceptsNull, resolveReference } from './catalogue/accepts-null.ts';
import { propertiesOf, requiredOf } from './catalogue/schema-parts.ts';

/**
 * For `strict`, arguments lose what stands for "left out". A call that was `written` freely gives its text to the one text
 * that the tool needs. Whatever else arguments hold is left as it is, and judged later.
 */
export const createReadProviderCalls: Dialects['createReadProviderCalls'] = (registry) => {
  const findTool: CallReading['findTool'] = (name) => registry.find(name) ?? registry.findPortable(name);
  const plain: CallReading = { findTool, readArguments: (call, { inputSchema }) => readRaw(call, inputSchema) };
  const strict: CallReading = {
    findTool,
    readArguments: (call, { inputSchema }) => dropOptionalNulls(readRaw(call, inputSchema), inputSchema),
  };
  return (habit) => (habit === 'strict' ? strict : plain);
};

const readRaw = (call: object, schema: JsonSchema): unknown => {
  const raw: unknown = Reflect.get(call, 'arguments');
  return Reflect.get(call, 'written') === 'freely' && typeof raw === 'string' ? readFreeText(raw, schema) : raw;
};

/**
 * The arguments that a model has written as free text: a JSON object as it stands, unless the tool needs one text and the
 * object does not name it; else the text is that one. Where a tool needs more, the text is left to be judged as JSON.
 */
const readFreeText = (input: string, schema: JsonSchema): unknown => {
  const name = findOnlyText(schema);
  if (name === null) return input;
  const parsed = input.trimStart().startsWith('{') ? parseJson(input) : null;
  return parsed?.ok && isRecord(parsed.value) && Object.hasOwn(parsed.value, name) ? input : { [name]: input };
};

/** The name of the one property that must be there, or of the only one there is, where it takes a text. */
const findOnlyText = (schema: JsonSchema): string | null => {
  const all = propertiesOf(schema);
  const required = requiredOf(schema);
  const [only, ...more] = required.length > 0 ? all.filter(([name]) => required.includes(name)) : all;
  if (only === undefined || more.length > 0) return null;
  const [name, property] = only;
  return isRecord(property) && property['type'] === 'string' ? name : null;
};

// A schema never changes, and whether there is anything to drop is found out once.
const refusesNull = new WeakMap<JsonSchema, boolean>();

/**
 * Arguments that a strict model wrote, without the nulls that stand for "left out": it must name every property, and says
 * null where one is optional. A null is dropped only where the property may be left out and its own schema refuses null.
 * What the executor refuses for its shape is left to it as it was sent; the same value where there is nothing to drop.
 */
export const dropOptionalNulls = (raw: unknown, schema: JsonSchema): unknown => {
  const mayDrop = refusesNull.get(schema) ?? mayRefuseNull(schema);
  refusesNull.set(schema, mayDrop);
  if (!mayDrop) return raw;
  if (typeof raw !== 'string') return dropFrom(raw, new SchemaPlaces(schema).whole(), 1);
  const parsed = raw.includes('null') ? parseJson(raw) : null;
  // Only the text tells of a number that lost digits: from here on it would be gone.
  if (!parsed?.ok || !isRecord(parsed.value) || findShapeProblem(parsed.value, createWideLiterals(raw)) !== null)
    return raw;
  const rest = dropFrom(parsed.value, new SchemaPlaces(schema).whole(), 1);
  return rest === parsed.value ? raw : rest;
};

// As deep as the executor takes arguments.
const MAX_DEPTH = 64;

const dropFrom = (value: unknown, place: SchemaPlace | null, depth: number): unknown => {
  if (typeof value !== 'object' || value === null || place === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    const { item } = place;
    const rest = item === null ? value : value.map((member: unknown) => dropFrom(member, item, depth + 1));
    return rest.some((member, position) => member !== value[position]) ? rest : value;
  }
  const entries = Object.entries(value);
  const rest = entries
    .map(([name, member]) => ({ name, member, at: place.member(name) }))
    .filter(({ member, at }) => member !== null || !at.isDroppable)
    .map(({ name, member, at }) => [name, dropFrom(member, at.place, depth + 1)] as const);
  const isSame =
    rest.length === entries.length && rest.every(([, member], position) => member === entries[position]?.[1]);
  return isSame ? value : Object.fromEntries(rest);
};

type Property = readonly [name: string, schema: unknown];

/** `isDroppable`: all ways that know the member let it be left out, and none takes null for it. */
type SchemaMember = { readonly isDroppable: boolean; readonly place: SchemaPlace | null };

const UNKNOWN: SchemaMember = { isDroppable: false, place: null };

// One schema may be in a hundred thousand places, each with parts of its own: further ones are not looked into.
const MOST_PARTS = 200_000;

/** The places of a value that a schema says something of. Made for one value: what it finds out it keeps. */
class SchemaPlaces {
  readonly root: JsonSchema;
  readonly #numbers = new Map<JsonSchema, number>();
  readonly #found = new Map<string, SchemaPlace>();
  #partsLeft = MOST_PARTS;

  constructor(root: JsonSchema) {
    this.root = root;
  }

  whole(): SchemaPlace | null {
    return this.at([this.root]);
  }

  /** The place that all these schemas are about; null where they say nothing of it. */
  at(about: readonly unknown[]): SchemaPlace | null {
    const schemas = [...new Set(about.filter(isRecord))];
    const key = schemas.map((schema) => this.#numberOf(schema)).join(' ');
    const found = this.#found.get(key);
    if (found !== undefined || schemas.length === 0 || this.#partsLeft <= 0) return found ?? null;
    const place = new SchemaPlace(this, toWays(schemas, this.root, this.#partsLeft));
    this.#partsLeft -= place.parts;
    this.#found.set(key, place);
    return place;
  }

  #numberOf(schema: JsonSchema): number {
    const number = this.#numbers.get(schema) ?? this.#numbers.size;
    this.#numbers.set(schema, number);
    return number;
  }
}

/** What a schema says of one place in a value, whichever of its ways the value takes. */
class SchemaPlace {
  readonly #places: SchemaPlaces;
  readonly #ways: readonly JsonSchema[];
  readonly #properties: ReadonlyMap<string, readonly Property[]>;
  readonly #required: ReadonlySet<unknown>;
  readonly #members = new Map<string, SchemaMember>();
  #item: SchemaPlace | null | undefined;

  constructor(places: SchemaPlaces, ways: readonly JsonSchema[]) {
    this.#places = places;
    this.#ways = ways;
    this.#properties = Map.groupBy(ways.flatMap(propertiesOf), ([name]) => name);
    this.#required = new Set(ways.flatMap(requiredOf));
  }

  get parts(): number {
    return this.#ways.length + this.#properties.size;
  }

  /** The place of each item of a list. */
  get item(): SchemaPlace | null {
    if (this.#item === undefined) this.#item = this.#places.at(this.#ways.map(({ items }) => items));
    return this.#item;
  }

  member(name: string): SchemaMember {
    const properties = this.#properties.get(name);
    if (properties === undefined) return UNKNOWN;
    const member = this.#members.get(name) ?? this.#toMember(name, properties);
    this.#members.set(name, member);
    return member;
  }

  #toMember(name: string, properties: readonly Property[]): SchemaMember {
    const schemas = properties.map(([, schema]) => schema);
    const isDroppable = !this.#required.has(name) && !schemas.some((schema) => acceptsNull(schema, this.#places.root));
    return { isDroppable, place: this.#places.at(schemas) };
  }
}

// A schema with more is not written strictly, and no model says null for what it leaves out.
const MOST_SEARCHED = 50_000;

/** Whether there may be a property anywhere that can be left out and does not take null. */
const mayRefuseNull = (root: JsonSchema): boolean => {
  const found = new Set([root]);
  // A set that grows while it is walked is walked to its end, and a circle of references ends.
  for (const schema of found) {
    if (found.size > MOST_SEARCHED) return false;
    const properties = propertiesOf(schema);
    const required = new Set(requiredOf(schema));
    if (properties.some(([name, property]) => !required.has(name) && !acceptsNull(property, root))) return true;
    const below = [...properties.map(([, property]) => property), schema['items'], ...combinedBy(schema, root)];
    for (const part of below) if (isRecord(part)) found.add(part);
  }
  return false;
};

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
    for (const part of combinedBy(schema, root)) if (isRecord(part)) found.add(part);
  }
  return [...found];
};
