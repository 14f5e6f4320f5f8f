import { resolveReference } from '../../contract/accepts-null.ts';
import type { JsonSchema } from '../../contract/tool-description.ts';

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

/** The schema and what it refers to or combines by these words for the same value, in the order it is written; each once. */
export const partsOf = (schema: JsonSchema, root: JsonSchema, words: readonly string[]): readonly JsonSchema[] => {
  const found = new Set<JsonSchema>();
  const stack = [schema];
  for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
    if (found.has(part)) continue;
    found.add(part);
    const combined = [resolveReference(part['$ref'], root), ...words.map((word) => part[word]).flatMap(schemasIn)];
    for (const next of combined.reverse()) if (isSchema(next)) stack.push(next);
  }
  return [...found];
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

type Nested = { readonly part: object; readonly level: number };

/** Every object and list within a value, itself first, at level 1: as often as it is found there. Never recursive. */
export function* objectsIn(value: unknown): Generator<Nested> {
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
const MAX_TOLD_LENGTH = 100;

/** `description` with the rules of `schema` that are not among `kept`: the provider enforces them no more. */
export const tellRules = (schema: JsonSchema, kept: JsonSchema): JsonSchema => {
  const rules = Object.entries(schema)
    .filter(([keyword]) => TELLING.has(keyword) && !Object.hasOwn(kept, keyword))
    .map(([keyword, value]) => `${keyword}: ${JSON.stringify(value)}`)
    .filter((rule) => rule.length <= MAX_TOLD_LENGTH);
  const told = [schema['description'], rules.length === 0 ? '' : `(${rules.join(', ')})`]
    .filter((text) => typeof text === 'string' && text !== '')
    .join(' ');
  return told === '' ? {} : { description: told };
};
