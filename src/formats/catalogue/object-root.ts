import { resolveReference } from '../../contract/accepts-null.ts';
import type { JsonSchema } from '../../contract/tool-description.ts';
import { isSchema, propertiesOf, requiredOf, schemasIn } from './schema-parts.ts';

/** A JSON Schema whose root is an object with properties, and combines nothing. */
export type ObjectSchema = JsonSchema & {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, unknown>>;
};

// What providers refuse at the root: OpenAI and Anthropic want a plain object there.
const COMBINING: ReadonlySet<string> = new Set([
  ...['anyOf', 'oneOf', 'allOf', '$ref', 'not', 'enum', 'const', 'if', 'then', 'else', 'dependentSchemas'],
  ...['$schema', '$id'],
]);

/**
 * The schema of a tool's arguments as providers take it: an object at the root. What the root combines is said as one
 * object that allows all of it, and requires what each way requires; the service judges by the whole schema.
 */
export const toObjectRoot = (schema: JsonSchema): ObjectSchema => {
  const plain = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !COMBINING.has(keyword)));
  const { properties, required } = toFields(schema, schema, new Set());
  const names = new Set(required);
  return { ...plain, type: 'object', properties, ...(names.size === 0 ? {} : { required: [...names] }) };
};

type Fields = { readonly properties: Readonly<Record<string, unknown>>; readonly required: readonly string[] };

// Further down nobody has written anything by hand.
const MAX_DEPTH = 64;
const NONE: Fields = { properties: {}, required: [] };

const toFields = (schema: unknown, root: JsonSchema, visited: ReadonlySet<unknown>): Fields => {
  if (!isSchema(schema) || visited.has(schema) || visited.size > MAX_DEPTH) return NONE;
  const seen = new Set([...visited, schema]);
  const fieldsOf = (list: unknown): readonly Fields[] => schemasIn(list).map((part) => toFields(part, root, seen));
  const own: Fields = { properties: Object.fromEntries(propertiesOf(schema)), required: requiredOf(schema) };
  const referred = toFields(resolveReference(schema['$ref'], root), root, seen);
  const all = [own, referred, ...fieldsOf(schema['allOf'])];
  const ways = [fieldsOf(schema['anyOf']), fieldsOf(schema['oneOf'])];
  return {
    properties: mergeProperties([...all, ...ways.flat()]),
    required: [...all.flatMap(({ required }) => required), ...ways.flatMap(requiredByEach)],
  };
};

const requiredByEach = (ways: readonly Fields[]): readonly string[] =>
  (ways[0]?.required ?? []).filter((name) => ways.every(({ required }) => required.includes(name)));

const mergeProperties = (all: readonly Fields[]): Readonly<Record<string, unknown>> => {
  const schemas = Map.groupBy(
    all.flatMap(({ properties }) => Object.entries(properties)),
    ([name]) => name,
  );
  return Object.fromEntries([...schemas].map(([name, entries]) => [name, toOne(entries.map(([, schema]) => schema))]));
};

const toOne = (schemas: readonly unknown[]): unknown => {
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  return different.length === 1 ? different[0] : { anyOf: different };
};
