import type { JsonSchema } from 'recourse-server/contract/tool-description';
import {
  COMBINING,
  createOpenObject,
  isSchema,
  isTooDeep,
  isTooLarge,
  type ObjectSchema,
  partsOf,
  propertiesOf,
  remembering,
  requiredOf,
  schemasIn,
} from './schema-parts.ts';

// What providers refuse at the root: OpenAI and Anthropic want a plain object there.
const REFUSED: ReadonlySet<string> = new Set([
  ...[...COMBINING, '$ref', 'not', 'enum', 'const', 'if', 'then', 'else', 'dependentSchemas'],
  ...['$schema', '$id'],
]);

/**
 * The schema of a tool's arguments as providers take it: an object at the root. What the root combines is said as one
 * object that allows all of it, and requires what each way requires; the service judges by the whole schema. One too
 * large to put together, or too deep, is said as an object that takes anything.
 */
export const toObjectRoot = remembering((schema: JsonSchema): ObjectSchema => {
  const isPlain = !JOINED.some((word) => word in schema);
  if (isPlain ? isTooDeep(schema) : isTooLarge(schema)) return createOpenObject(schema);
  const plain = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !REFUSED.has(keyword)));
  if (isPlain) return createObject(plain, plain['properties'], requiredOf(plain));
  const parts = partsOf([schema], schema, COMBINING);
  const search: Search = { root: schema, known: new Map(), namesLeft: MOST_NAMES };
  return createObject(plain, mergeProperties(parts), requiredBy(schema, search, 0));
});

const JOINED = [...COMBINING, '$ref'];

const createObject = (plain: JsonSchema, properties: unknown, required: Iterable<string>): ObjectSchema => {
  const { required: _said, ...rest } = plain;
  const names = new Set(required);
  return {
    ...rest,
    type: 'object',
    properties: isSchema(properties) ? properties : {},
    ...(names.size === 0 ? {} : { required: [...names] }),
  };
};

type Search = {
  readonly root: JsonSchema;
  readonly known: Map<JsonSchema, ReadonlySet<string>>;
  /** How many more may be gathered: sets of sets grow with the square of a schema. */
  namesLeft: number;
};

// Further down nobody has written anything by hand.
const MAX_DEPTH = 64;
const MOST_NAMES = 200_000;
const NONE: ReadonlySet<string> = new Set();

/** The names that a schema requires, whichever way is taken. Where the search ends early there are more. */
const requiredBy = (schema: JsonSchema, search: Search, depth: number): ReadonlySet<string> => {
  const known = search.known.get(schema);
  if (known !== undefined) return known;
  if (depth > MAX_DEPTH || search.namesLeft <= 0) return NONE;
  // In a circle it adds nothing to itself.
  search.known.set(schema, NONE);
  const parts = partsOf([schema], search.root, ['allOf']);
  const ways = parts.flatMap(({ anyOf, oneOf }) => [schemasIn(anyOf), schemasIn(oneOf)]);
  const names = new Set([
    ...parts.flatMap(requiredOf),
    ...ways.flatMap((list) => requiredByEach(list.map((way) => requiredBy(way, search, depth + 1)))),
  ]);
  search.namesLeft -= parts.length + names.size;
  search.known.set(schema, names);
  return names;
};

const requiredByEach = ([first = NONE, ...others]: readonly ReadonlySet<string>[]): readonly string[] =>
  [...first].filter((name) => others.every((names) => names.has(name)));

const mergeProperties = (parts: readonly JsonSchema[]): Readonly<Record<string, unknown>> => {
  const schemas = Map.groupBy(parts.flatMap(propertiesOf), ([name]) => name);
  return Object.fromEntries(
    [...schemas].map(([name, entries]) => [name, mergeSchemas(entries.map(([, schema]) => schema))]),
  );
};

const mergeSchemas = (schemas: readonly unknown[]): unknown => {
  if (schemas.length === 1) return schemas[0];
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  return different.length === 1 ? different[0] : { anyOf: different };
};
