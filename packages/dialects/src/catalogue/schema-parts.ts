import type { JsonSchema } from 'recourse-server/contract/tool-description';

/**
 * The same function, asked once for each schema: those of a catalogue stay the same objects until it changes, and there
 * may be thousands.
 */
export const remembering = <Result>(convert: (schema: JsonSchema) => Result): ((schema: JsonSchema) => Result) => {
  const known = new WeakMap<JsonSchema, { readonly result: Result }>();
  return (schema) => {
    const found = known.get(schema) ?? { result: convert(schema) };
    known.set(schema, found);
    return found.result;
  };
};

export const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members of a list that are schemas; none where it is no list. */
export const schemasIn = (list: unknown): readonly JsonSchema[] => (Array.isArray(list) ? list.filter(isSchema) : []);

/** The properties of an object schema with their names; booleans are schemas, too. */
export const propertiesOf = ({ properties }: JsonSchema): readonly (readonly [name: string, schema: unknown])[] =>
  isSchema(properties) ? Object.entries(properties) : [];

/** The names of the required properties. */
export const requiredOf = ({ required }: JsonSchema): readonly string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];

/** The types a schema names; none where it names none. */
export const typesOf = ({ type }: JsonSchema): readonly string[] =>
  [type].flat().filter((name) => typeof name === 'string');

/** The name under `$defs` that a reference leads to; null for any other reference. */
export const definitionOf = (reference: unknown): string | null =>
  (typeof reference === 'string' ? /^#\/\$defs\/([^/~%]+)$/.exec(reference)?.[1] : undefined) ?? null;

/** What a local `$ref` (RFC 6901 pointer behind `#`) points to; undefined where there is nothing. */
export const resolveReference = (reference: unknown, root: unknown): unknown => {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  let target = root;
  for (const step of reference.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined;
    target = Reflect.get(target, name);
  }
  return target;
};

/** The words by which a schema combines others for the same value. */
export const COMBINING = ['allOf', 'anyOf', 'oneOf'] as const;

/**
 * The schemas and what they refer to or combine by these words for the same value, in the order it is written; each once. None
 * where there are more than `most`.
 */
export const partsOf = (
  schemas: readonly JsonSchema[],
  root: JsonSchema,
  words: readonly string[],
  most = Number.POSITIVE_INFINITY,
): readonly JsonSchema[] => {
  const found = new Set<JsonSchema>();
  const stack = schemas.toReversed();
  for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
    if (found.has(part)) continue;
    found.add(part);
    if (found.size > most) return [];
    const combined = [resolveReference(part['$ref'], root), ...words.map((word) => part[word]).flatMap(schemasIn)];
    for (const next of combined.reverse()) if (isSchema(next)) stack.push(next);
  }
  return [...found];
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

type Nested = { readonly part: object; readonly level: number };

/** Every object and list within a value, itself first, at level 1: as often as it is found there. Never recursive. */
function* objectsIn(value: unknown): Generator<Nested> {
  const stack: Nested[] = isObject(value) ? [{ part: value, level: 1 }] : [];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    yield next;
    const level = next.level + 1;
    for (const part of Object.values(next.part)) if (isObject(part)) stack.push({ part, level });
  }
}

/** Names of the definitions that a schema refers to, wherever in it. */
export const referencesIn = (schema: unknown): readonly string[] => {
  const found = new Set<string>();
  for (const { part } of objectsIn(schema)) {
    const name = isSchema(part) ? definitionOf(part['$ref']) : null;
    if (name !== null) found.add(name);
  }
  return [...found];
};

/** The members of a schema under these keywords, in the schema's own order. */
export const pick = (schema: JsonSchema, keywords: ReadonlySet<string>): JsonSchema =>
  Object.fromEntries(Object.entries(schema).filter(([keyword]) => keywords.has(keyword)));

// What a model can obey although nothing enforces it.
const TELLING: ReadonlySet<string> = new Set([
  ...['default', 'format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum'],
  ...['exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties'],
]);
const MAX_RULE_LENGTH = 100;

/** `description` with the rules of `schema` that are not among `kept`: the provider enforces them no more. */
export const describeRules = (schema: JsonSchema, kept: JsonSchema): JsonSchema => {
  const rules = Object.entries(schema)
    .filter(([keyword]) => TELLING.has(keyword) && !Object.hasOwn(kept, keyword))
    .map(([keyword, value]) => `${keyword}: ${JSON.stringify(value)}`)
    .filter((rule) => rule.length <= MAX_RULE_LENGTH);
  const description = [schema['description'], rules.length === 0 ? '' : `(${rules.join(', ')})`]
    .filter((text) => typeof text === 'string' && text !== '')
    .join(' ');
  return description === '' ? {} : { description: description };
};

// No model reads a megabyte of schema, and what is written anew for it keeps all other calls waiting.
const MOST_NODES = 50_000;
// Objects and lists within each other. JSON.stringify is recursive where an object has many members or a text is long:
// its stack was full at some 3 000.
const MOST_LEVELS = 512;

// Each is looked for from each.
const MOST_DEFINITIONS = 500;

/** Whether a schema has too many definitions, objects and lists in it, or too deep, to be written anew for a provider. */
export const isTooLarge = (schema: JsonSchema): boolean => {
  if (isSchema(schema['$defs']) && Object.keys(schema['$defs']).length > MOST_DEFINITIONS) return true;
  let nodes = 0;
  for (const { level } of objectsIn(schema)) {
    nodes += 1;
    if (nodes > MOST_NODES || level > MOST_LEVELS) return true;
  }
  return false;
};

/** Whether a schema is nested too deep to be written at all. */
export const isTooDeep = (schema: JsonSchema): boolean => {
  for (const { level } of objectsIn(schema)) if (level > MOST_LEVELS) return true;
  return false;
};

/** A JSON Schema whose root is an object with properties, and combines nothing. */
export type ObjectSchema = JsonSchema & {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, unknown>>;
};

/** An object of which nothing is said but what it is for: it takes whatever the schema takes. */
export const createOpenObject = (schema: JsonSchema): ObjectSchema => ({
  ...pick(schema, new Set(['title', 'description'])),
  type: 'object',
  properties: {},
});

/** What each definition refers to, by its name. */
export type References = ReadonlyMap<string, readonly string[]>;

export const referencesOf = (definitions: Iterable<readonly [string, unknown]>): References =>
  new Map([...definitions].map(([name, definition]) => [name, referencesIn(definition)]));

/** Whether one of these names is `target`, or leads to it over any number of references. */
export const leadsTo = (names: readonly string[], target: string, references: References): boolean => {
  const found = new Set(names);
  // A set that grows while it is walked is walked to its end.
  for (const name of found) for (const next of references.get(name) ?? []) found.add(next);
  return found.has(target);
};
