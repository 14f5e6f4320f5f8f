import { isRecord } from '../contract/json-record.ts';
import type { JsonSchema } from '../contract/tool-description.ts';

/** The properties of an object schema by name; empty for any other. */
export const propertiesOf = (schema: JsonSchema): ReadonlyMap<string, JsonSchema> =>
  new Map(
    Object.entries(isRecord(schema['properties']) ? schema['properties'] : {}).filter(
      (entry): entry is [string, JsonSchema] => isRecord(entry[1]),
    ),
  );

/** The names of the required properties. */
const requiredOf = (schema: JsonSchema): readonly string[] =>
  Array.isArray(schema['required']) ? schema['required'].filter((name) => typeof name === 'string') : [];

/** Whether a schema marks anything as `sensitive: true`. */
export const marksSensitive = (schema: JsonSchema): boolean => {
  // A memo: a schema never changes.
  const found = sensitivity.get(schema) ?? (JSON.stringify(schema).includes('"sensitive":true') ? 'marks' : 'plain');
  sensitivity.set(schema, found);
  return found === 'marks';
};

const sensitivity = new WeakMap<JsonSchema, 'marks' | 'plain'>();

/** Whether the schema marks the value under `path`, or anything above it, as `sensitive: true`. */
export const isSensitive = (schema: JsonSchema, path: readonly PropertyKey[]): boolean => {
  if (!marksSensitive(schema)) return false;
  let ways = listAlternatives([schema], schema);
  return path.some((step) => {
    ways = findBelow(ways, step, schema);
    return ways.some((way) => way['sensitive'] === true);
  });
};

const findBelow = (ways: readonly JsonSchema[], step: PropertyKey, root: JsonSchema): readonly JsonSchema[] =>
  listAlternatives(
    ways.flatMap((way) => membersAt(way, step)),
    root,
  );

/** All that describes the value under `path`, alternatives and parts included. */
const schemasAt = (schema: JsonSchema, path: readonly PropertyKey[]): readonly JsonSchema[] =>
  path.reduce((ways, step) => findBelow(ways, step, schema), listAlternatives([schema], schema));

/** The names of the properties of what is under `path`, in all its alternatives and parts. */
export const namesAt = (schema: JsonSchema, path: readonly PropertyKey[]): readonly string[] => [
  ...new Set(schemasAt(schema, path).flatMap((way) => [...propertiesOf(way).keys()])),
];

/** Whether a text may stand under `path`, as far as types and lists of values tell. */
export const takesText = (schema: JsonSchema, path: readonly PropertyKey[]): boolean => {
  const types = schemasAt(schema, path).flatMap(typesOf);
  return types.length === 0 || types.includes('string');
};

const typesOf = ({ type, enum: values, const: value }: JsonSchema): readonly unknown[] => {
  if (type !== undefined) return [type].flat();
  if (Array.isArray(values)) return values.map((one) => typeof one);
  return value === undefined ? [] : [typeof value];
};

const recordsOf = (value: unknown): readonly JsonSchema[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** These schemas and all that they refer to for the same value: alternatives, parts and `$ref`s into `root`. */
const listAlternatives = (schemas: readonly JsonSchema[], root: JsonSchema): readonly JsonSchema[] => {
  const found = new Set(schemas);
  // A set that grows while it is walked is walked to its end, and a circle of references ends.
  for (const one of found) {
    const members = ['anyOf', 'oneOf', 'allOf'].flatMap((word) => recordsOf(one[word]));
    for (const next of [...members, ...findReferred(one['$ref'], root)]) found.add(next);
  }
  return [...found];
};

/** What a reference within the whole leads to, as a list of one; empty where it leads elsewhere or nowhere. */
export const findReferred = (reference: unknown, root: JsonSchema): readonly JsonSchema[] => {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return [];
  let target: unknown = root;
  for (const word of reference.split('/').slice(1))
    target = memberAt(target, word.replaceAll('~1', '/').replaceAll('~0', '~'));
  return isRecord(target) ? [target] : [];
};

const memberAt = (holder: unknown, name: string): unknown =>
  typeof holder === 'object' && holder !== null && Object.hasOwn(holder, name) ? Reflect.get(holder, name) : undefined;

/** What may describe a member: of an object by its name or as any other, of an array by its place or as any other. */
const membersAt = (schema: JsonSchema, step: PropertyKey): readonly JsonSchema[] => {
  if (typeof step === 'number') {
    const inPlace = recordsOf(schema['prefixItems'])[step];
    return inPlace === undefined ? [schema['items']].filter(isRecord) : [inPlace];
  }
  const named = propertiesOf(schema).get(String(step));
  const patterns = isRecord(schema['patternProperties']) ? Object.values(schema['patternProperties']) : [];
  return named === undefined ? [...patterns, schema['additionalProperties']].filter(isRecord) : [named];
};

const MOST_EXAMPLE_PARAMETERS = 4;

/** One arguments object that looks like what the schema wants, as JSON text: `{"x": 1, "y": 2}`. */
export const createExampleArguments = (schema: JsonSchema): string => {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const names = (required.length > 0 ? required : [...properties.keys()]).slice(0, MOST_EXAMPLE_PARAMETERS);
  const members = names.map((name, position) => {
    const example = createExample(properties.get(name) ?? {}, position + 1);
    return `${JSON.stringify(name)}: ${JSON.stringify(example)}`;
  });
  return `{${members.join(', ')}}`;
};

const firstOf = (value: unknown): unknown => (Array.isArray(value) ? value[0] : undefined);

const createExample = (schema: JsonSchema, position: number): unknown => {
  const given = firstOf(schema['examples']) ?? schema['default'] ?? schema['const'] ?? firstOf(schema['enum']);
  if (given !== undefined) return given;
  switch (Array.isArray(schema['type']) ? schema['type'][0] : schema['type']) {
    case 'number':
    case 'integer':
      return position;
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'object':
      return {};
    case 'null':
      return null;
    default:
      return 'text';
  }
};
