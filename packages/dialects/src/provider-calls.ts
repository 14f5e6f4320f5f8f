import { isRecord } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import type { CallReading } from 'recourse-server/executor/batch-request';
import { createWideLiterals, findShapeProblem } from 'recourse-server/executor/parse-arguments';
import { parseJson } from 'recourse-server/json/parse-json';
import type { Dialects } from 'recourse-server/routes/dialects';
import { acceptsNull } from './catalogue/accepts-null.ts';
import { COMBINING, partsOf, propertiesOf, requiredOf } from './catalogue/schema-parts.ts';

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

/**
 * Arguments that a strict model wrote, without the nulls that stand for "left out": it must name every property, and says
 * null where one is optional. A null is dropped only where the property may be left out and its own schema refuses null.
 * What the executor refuses for its shape is left to it as it was sent; the same value where there is nothing to drop.
 */
export const dropOptionalNulls = (raw: unknown, schema: JsonSchema): unknown => {
  if (typeof raw !== 'string') return containsNull(raw, 1) ? dropFrom(raw, wholeOf(schema), 1) : raw;
  const parsed = raw.includes('null') ? parseJson(raw) : null;
  // Only the text tells of a number that lost digits: from here on it would be gone.
  if (!parsed?.ok || !isRecord(parsed.value) || findShapeProblem(parsed.value, createWideLiterals(raw)) !== null)
    return raw;
  const rest = dropFrom(parsed.value, wholeOf(schema), 1);
  return rest === parsed.value ? raw : rest;
};

// As deep as the executor takes arguments.
const MAX_DEPTH = 64;

const containsNull = (value: unknown, depth: number): boolean =>
  value === null ||
  (typeof value === 'object' &&
    depth <= MAX_DEPTH &&
    Object.values(value).some((part) => containsNull(part, depth + 1)));

const dropFrom = (value: unknown, place: SchemaPlace | null, depth: number): unknown => {
  if (typeof value !== 'object' || value === null || place === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    const rest = value.map((member: unknown) => dropFrom(member, place.item(), depth + 1));
    return rest.some((member, position) => member !== value[position]) ? rest : value;
  }
  const entries = Object.entries(value);
  const rest = entries
    .filter(([name, member]) => member !== null || !place.isDroppable(name))
    .map(([name, member]) => [name, dropFrom(member, place.member(name), depth + 1)] as const);
  const isSame =
    rest.length === entries.length && rest.every(([, member], position) => member === entries[position]?.[1]);
  return isSame ? value : Object.fromEntries(rest);
};

/** One value's walk: how many more parts of the schema may be looked into. A recursive schema has a place for each node. */
type Walk = { readonly root: JsonSchema; partsLeft: number };

// Some 300 ms.
const MOST_PARTS = 1_000_000;

const wholeOf = (root: JsonSchema): SchemaPlace | null => placeOf([root], { root, partsLeft: MOST_PARTS });

/** The place of a value that all these schemas describe; null where they say nothing of it. */
const placeOf = (schemas: readonly unknown[], walk: Walk): SchemaPlace | null => {
  const ways = partsOf(schemas.filter(isRecord), walk.root, COMBINING, walk.partsLeft);
  return ways.length === 0 ? null : new SchemaPlace(ways, walk);
};

/** What a schema says of one place in a value, whichever of its ways the value takes. Each part is found when it is asked for. */
class SchemaPlace {
  readonly #walk: Walk;
  readonly #ways: readonly JsonSchema[];
  readonly #properties: ReadonlyMap<string, readonly unknown[]>;
  readonly #members = new Map<string, SchemaPlace | null>();
  #item: SchemaPlace | null | undefined;

  constructor(ways: readonly JsonSchema[], walk: Walk) {
    const properties = new Map<string, unknown[]>();
    for (const [name, schema] of ways.flatMap(propertiesOf)) {
      const schemas = properties.get(name);
      if (schemas === undefined) properties.set(name, [schema]);
      else schemas.push(schema);
    }
    this.#walk = walk;
    this.#ways = ways;
    this.#properties = properties;
    walk.partsLeft -= ways.length + properties.size;
  }

  /** The place of each item of a list. */
  item(): SchemaPlace | null {
    if (this.#item === undefined)
      this.#item = placeOf(
        this.#ways.map(({ items }) => items),
        this.#walk,
      );
    return this.#item;
  }

  member(name: string): SchemaPlace | null {
    const member = this.#members.get(name) ?? placeOf(this.#properties.get(name) ?? [], this.#walk);
    this.#members.set(name, member);
    return member;
  }

  /** Whether all ways that know the property let it be left out, and none takes null for it. */
  isDroppable(name: string): boolean {
    const schemas = this.#properties.get(name);
    if (schemas === undefined || this.#ways.some((way) => requiredOf(way).includes(name))) return false;
    return !schemas.some((schema) => acceptsNull(schema, this.#walk.root));
  }
}
