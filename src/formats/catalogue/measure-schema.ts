import type { JsonSchema } from '../../contract/tool-description.ts';
import { remembering } from './remembering.ts';
import { isSchema, propertiesOf, requiredOf, schemasIn } from './schema-parts.ts';

export type SchemaSize = {
  /** Objects within objects, the outermost counted. */
  readonly depth: number;
  readonly properties: number;
  readonly enumValues: number;
  /** Characters of all names of properties and definitions, and of all literals. */
  readonly namesLength: number;
  /** Properties that may be left out. */
  readonly optional: number;
  /** Properties that take several types. */
  readonly unions: number;
};

/** How much of what providers limit a strict schema has; what it refers to is counted once, where it is defined. */
export const measureSchema = remembering((schema: JsonSchema): SchemaSize => measure(schema));

// Recursive: the parts of a strict schema are at most 64 levels deep.
const measure = (schema: JsonSchema): SchemaSize => {
  const properties = propertiesOf(schema);
  const definitions = isSchema(schema['$defs']) ? Object.entries(schema['$defs']) : [];
  const literals = Array.isArray(schema['enum']) ? schema['enum'] : [];
  const below = [...properties, ...definitions].flatMap(([, part]) => (isSchema(part) ? [measure(part)] : []));
  const inside = [
    ...below,
    ...[schema['items']].filter(isSchema).map(measure),
    ...schemasIn(schema['anyOf']).map(measure),
  ];
  const names = [...properties, ...definitions].map(([name]) => name);
  const required = new Set(requiredOf(schema));
  const own: SchemaSize = {
    depth: properties.length > 0 ? 1 : 0,
    properties: properties.length,
    enumValues: literals.length,
    namesLength: [...names, ...literals, schema['const'] ?? ''].reduce(
      (sum: number, text) => sum + String(text).length,
      0,
    ),
    optional: properties.filter(([name]) => !required.has(name)).length,
    unions: 'anyOf' in schema || Array.isArray(schema['type']) ? 1 : 0,
  };
  return inside.reduce(addSizes(own.depth), own);
};

const addSizes =
  (ownDepth: number) =>
  (sum: SchemaSize, part: SchemaSize): SchemaSize => ({
    depth: Math.max(sum.depth, ownDepth + part.depth),
    properties: sum.properties + part.properties,
    enumValues: sum.enumValues + part.enumValues,
    namesLength: sum.namesLength + part.namesLength,
    optional: sum.optional + part.optional,
    unions: sum.unions + part.unions,
  });
