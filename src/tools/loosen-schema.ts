import { isRecord } from '../contract/json-record.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import { findReferred } from './json-schema.ts';

// Whose members are called as the schema's author likes.
const NAMED: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
]);
// Whose values are no schemas.
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'required', 'examples']);

/** A schema with each schema in it changed, its definitions too. */
export const mapParts = (schema: JsonSchema, change: (part: JsonSchema) => JsonSchema): JsonSchema => {
  const changed = (value: unknown): unknown => (isRecord(value) ? change(value) : value);
  return Object.fromEntries(
    Object.entries(schema).map(([word, value]) => {
      if (VALUES.has(word)) return [word, value];
      if (NAMED.has(word) && isRecord(value))
        return [word, Object.fromEntries(Object.entries(value).map(([name, member]) => [name, changed(member)]))];
      return [word, Array.isArray(value) ? value.map(changed) : changed(value)];
    }),
  );
};

/**
 * The schema where parts of it fit more values than their author meant (`isRelaxed`): nothing is refused because such a
 * part fits. `oneOf` with one is `anyOf`; `not`, `if` and `maxContains` of one are left out. So is the demand for a single
 * alternative beside `discriminator`, which OpenAPI lets choose among those that fit.
 */
export const loosenSchema = (root: JsonSchema, isRelaxed: (part: JsonSchema) => boolean): JsonSchema => {
  const holdsRelaxed = createSearch(root, isRelaxed);
  const loosen = (schema: JsonSchema): JsonSchema => mapParts(withoutStrictWords(schema, holdsRelaxed), loosen);
  return loosen(root);
};

const withoutStrictWords = (schema: JsonSchema, holdsRelaxed: (part: unknown) => boolean): JsonSchema => {
  const left = [
    ...(holdsRelaxed(schema['not']) ? ['not'] : []),
    ...(holdsRelaxed(schema['if']) ? ['if', 'then', 'else'] : []),
    ...(holdsRelaxed(schema['contains']) ? ['maxContains'] : []),
  ];
  const { oneOf: ways } = schema;
  const mayFitTwice = Array.isArray(ways) && ('discriminator' in schema || ways.some(holdsRelaxed));
  if (mayFitTwice) left.push('oneOf');
  if (left.length === 0) return schema;
  const rest = Object.fromEntries(Object.entries(schema).filter(([word]) => !left.includes(word)));
  if (!mayFitTwice) return rest;
  if (!('anyOf' in rest)) return { ...rest, anyOf: ways };
  return { ...rest, allOf: [...(Array.isArray(rest['allOf']) ? rest['allOf'] : []), { anyOf: ways }] };
};

/** Whether a part is relaxed, or anything that it holds or refers to. */
const createSearch = (root: JsonSchema, isRelaxed: (part: JsonSchema) => boolean) => {
  const known = new Map<JsonSchema, boolean>();
  const search = (start: JsonSchema): boolean => {
    const reached = new Set([start]);
    // A set that grows while it is walked is walked to its end, and a circle of references ends.
    for (const part of reached) {
      if (isRelaxed(part)) return true;
      for (const next of partsOf(part, root)) reached.add(next);
    }
    return false;
  };
  return (part: unknown): boolean => {
    if (!isRecord(part)) return false;
    const found = known.get(part) ?? search(part);
    known.set(part, found);
    return found;
  };
};

const partsOf = (schema: JsonSchema, root: JsonSchema): readonly JsonSchema[] => {
  const parts: JsonSchema[] = [];
  mapParts(schema, (part) => {
    parts.push(part);
    return part;
  });
  const { $ref: reference, $dynamicRef: dynamic } = schema;
  if (reference === undefined && dynamic === undefined) return parts;
  const targets = findReferred(reference, root);
  // One by another name may be any part of the whole.
  return [...parts, ...(targets.length === 0 ? [root] : targets)];
};
