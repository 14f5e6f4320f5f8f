import type { JsonSchema } from 'recourse-server/contract/tool-description';
import {
  createOpenObject,
  definitionOf,
  describeRules,
  isSchema,
  isTooLarge,
  leadsTo,
  pick,
  propertiesOf,
  type References,
  referencesIn,
  referencesOf,
  requiredOf,
  schemasIn,
} from './schema-parts.ts';

// `responseJsonSchema` of @google/genai lists what is supported; `parametersJsonSchema` is read the same way.
const SUPPORTED: ReadonlySet<string> = new Set([
  ...['type', 'format', 'title', 'minItems', 'maxItems', 'minimum', 'maximum'],
]);
const MAX_DEPTH = 64;

/**
 * A tool's input schema, an object at its root, without what Gemini refuses; rules that are lost are told in
 * descriptions. One too large to be written anew is said as an object that takes anything.
 */
export const toGeminiSchema = (root: JsonSchema): JsonSchema => {
  if (isTooLarge(root)) return createOpenObject(root);
  const definitions = isSchema(root['$defs']) ? Object.entries(root['$defs']) : [];
  const references = referencesOf(definitions);
  const schema = convertNode(root, { references, inside: null }, 0);
  const converted = definitions.map(([name, part]) => [name, convertNode(part, { references, inside: name }, 0)]);
  return converted.length === 0 ? schema : { ...schema, $defs: Object.fromEntries(converted) };
};

type Context = {
  readonly references: References;
  /** The definition that is converted; null at the root. */
  readonly inside: string | null;
};

const convertNode = (schema: unknown, context: Context, depth: number): JsonSchema => {
  if (!isSchema(schema) || depth > MAX_DEPTH) return {};
  const definition = definitionOf(schema['$ref']);
  // Beside a reference nothing else may stand.
  if (definition !== null) return { $ref: schema['$ref'] };
  const remaining = { ...pick(schema, SUPPORTED), ...convertLiterals(schema) };
  return { ...remaining, ...describeRules(schema, remaining), ...convertStructure(schema, context, depth) };
};

const convertStructure = (schema: JsonSchema, context: Context, depth: number): JsonSchema => {
  const convert = (part: unknown): JsonSchema => convertNode(part, context, depth + 1);
  const { properties, items, prefixItems, additionalProperties } = schema;
  const ways = [schema['anyOf'], schema['oneOf']].flatMap(schemasIn);
  const single = schemasIn(schema['allOf']);
  return {
    ...(single.length === 1 ? convert(single[0]) : {}),
    ...(isSchema(properties) ? convertObject(schema, context, convert) : {}),
    ...(isSchema(items) ? { items: convert(items) } : {}),
    ...(Array.isArray(prefixItems) ? { prefixItems: prefixItems.map(convert) } : {}),
    ...(ways.length > 0 ? { anyOf: ways.map(convert) } : {}),
    ...(typeof additionalProperties === 'boolean' ? { additionalProperties } : {}),
    ...(isSchema(additionalProperties) ? { additionalProperties: convert(additionalProperties) } : {}),
  };
};

const convertObject = (schema: JsonSchema, context: Context, convert: (part: unknown) => JsonSchema) => {
  const properties = new Map(propertiesOf(schema));
  // A circle may only be closed by what can be left out.
  const required = requiredOf(schema).filter((name) => !closesCircle(properties.get(name), context));
  return {
    properties: Object.fromEntries([...properties].map(([name, property]) => [name, convert(property)])),
    ...(required.length === 0 ? {} : { required }),
  };
};

/** Whether a property of a definition leads back to that definition. */
const closesCircle = (property: unknown, { references, inside }: Context): boolean =>
  inside !== null && leadsTo(referencesIn(property), inside, references);

/** Literals as `enum`, which is for texts and numbers alone. */
const convertLiterals = (schema: JsonSchema): JsonSchema => {
  const values = 'const' in schema ? [schema['const']] : [schema['enum'] ?? []].flat();
  const fit = values.every((value) => typeof value === 'string' || typeof value === 'number');
  return fit && values.length > 0 ? { enum: values } : {};
};
