import { isRecord, type JsonRecord, listAt, recordAt, textsAt } from '../document/json-record.ts';
import { followReferences } from '../document/references.ts';

/** The members of an object schema and which of them must be there. */
export type FlatObject = { readonly properties: ReadonlyMap<string, unknown>; readonly required: ReadonlySet<string> };

const MOST_LEVELS = 8;
// With these the members alone do not say what the object is.
const FURTHER_WORDS = ['oneOf', 'if', 'not', 'patternProperties', 'propertyNames', 'dependentSchemas', '$dynamicRef'];

/**
 * The members that can stand beside other arguments, or null where the schema is not a plain object: `allOf` of plain
 * objects is one; `anyOf` makes it none unless its parts only say what is required, which is left to the API; `oneOf`
 * and an object that says it takes any further members make it none.
 */
export const toFlatObject = (root: JsonRecord, source: unknown, level = 0): FlatObject | null => {
  if (level > MOST_LEVELS || !isRecord(source)) return null;
  const schema = followReferences(root, source);
  if (!isPlainObject(schema)) return null;
  const parts = listAt(schema, 'allOf').map((part) => toFlatObject(root, part, level + 1));
  const own: FlatObject = {
    properties: new Map(Object.entries(recordAt(schema, 'properties'))),
    required: new Set(textsAt(schema, 'required')),
  };
  return [own, ...parts].reduce(joinObjects);
};

/** With a member for every name that is required and that nothing describes: without it no call could succeed. */
export const withAllRequired = ({ properties, required }: FlatObject): FlatObject => {
  const undescribed = [...required].filter((name) => !properties.has(name));
  return { properties: new Map([...properties, ...undescribed.map((name) => [name, {}] as const)]), required };
};

const joinObjects = (a: FlatObject | null, b: FlatObject | null): FlatObject | null => {
  if (a === null || b === null || [...b.properties.keys()].some((name) => a.properties.has(name))) return null;
  return {
    properties: new Map([...a.properties, ...b.properties]),
    required: new Set([...a.required, ...b.required]),
  };
};

const isPlainObject = (schema: JsonRecord): boolean => {
  const isObject = schema['type'] === 'object' || 'properties' in schema || 'allOf' in schema || 'required' in schema;
  const further = schema['additionalProperties'] ?? false;
  return (
    isObject &&
    further === false &&
    (schema['type'] ?? 'object') === 'object' &&
    schema['nullable'] !== true &&
    !FURTHER_WORDS.some((word) => word in schema) &&
    listAt(schema, 'anyOf').every(onlyRequires)
  );
};

const onlyRequires = (alternative: unknown): boolean =>
  isRecord(alternative) && Object.keys(alternative).every((word) => word === 'required');
