import { isObject, type JsonObject } from './json-type.ts';

// What strict mode takes of JSON Schema, by OpenAI's guide to structured outputs.
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['type', 'title', 'description', 'enum', 'const', 'anyOf', '$ref', '$defs', 'definitions', '$schema'],
  ...['properties', 'required', 'additionalProperties', 'items', 'minItems', 'maxItems', 'pattern', 'format'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
]);

/** What OpenAI's strict mode objects to in a schema, in its words; null where it takes it. */
export const findStrictFault = (schema: JsonObject): string | null => {
  if (schema['anyOf'] !== undefined) return "schema must have type 'object' and not have 'anyOf' at the top level.";
  return findFault(schema, []);
};

const findFault = (schema: JsonObject, place: readonly string[]): string | null => {
  const context = `In context=${toTuple(place)}`;
  const foreign = Object.keys(schema).find((keyword) => !KEYWORDS.has(keyword));
  if (foreign !== undefined) return `${context}, '${foreign}' is not permitted.`;
  return findObjectFault(schema, context) ?? findTypeFault(schema, context) ?? findInside(schema, place);
};

const findObjectFault = (schema: JsonObject, context: string): string | null => {
  const { type, properties, additionalProperties, required } = schema;
  const types = Array.isArray(type) ? type : [type];
  if (!types.includes('object')) return null;
  if (additionalProperties !== false)
    return `${context}, 'additionalProperties' is required to be supplied and to be false.`;
  const listed = Array.isArray(required) ? required : [];
  const names = Object.keys(isObject(properties) ? properties : {});
  const missing = names.find((name) => !listed.includes(name));
  if (missing !== undefined)
    return `${context}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`;
  const extra = listed.find((name) => !names.includes(String(name)));
  return extra === undefined
    ? null
    : `${context}, 'required' must be an array that includes every key in \`properties\`. Extra required key '${String(extra)}' supplied.`;
};

const findTypeFault = (schema: JsonObject, context: string): string | null => {
  const says = ['type', '$ref', 'anyOf', 'enum', 'const'].some((keyword) => schema[keyword] !== undefined);
  if (!says) return `${context}, schema must have a 'type' key.`;
  return schema['type'] === 'array' && schema['items'] === undefined ? `${context}, array schema missing items.` : null;
};

const findInside = (schema: JsonObject, place: readonly string[]): string | null => {
  const named = ['properties', '$defs', 'definitions'].flatMap((keyword) =>
    Object.entries(isObject(schema[keyword]) ? schema[keyword] : {}).map(
      ([name, inner]) => [inner, [...place, keyword, name]] as const,
    ),
  );
  const listed = (Array.isArray(schema['anyOf']) ? schema['anyOf'] : []).map(
    (inner: unknown, index) => [inner, [...place, 'anyOf', String(index)]] as const,
  );
  for (const [inner, where] of [...named, ...listed, [schema['items'], [...place, 'items']] as const]) {
    const fault = isObject(inner) ? findFault(inner, where) : null;
    if (fault !== null) return fault;
  }
  return null;
};

const toTuple = (place: readonly string[]): string =>
  `(${place.map((name) => `'${name}'`).join(', ')}${place.length === 1 ? ',' : ''})`;
