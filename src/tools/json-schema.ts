import type { JsonSchema } from '../contract/tool-description.ts';

const isRecord = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The properties of an object schema by name; empty for any other. */
export const propertiesOf = (schema: JsonSchema): ReadonlyMap<string, JsonSchema> =>
  new Map(
    Object.entries(isRecord(schema['properties']) ? schema['properties'] : {}).filter(
      (entry): entry is [string, JsonSchema] => isRecord(entry[1]),
    ),
  );

/** The names of the required properties. */
export const requiredOf = (schema: JsonSchema): readonly string[] =>
  Array.isArray(schema['required']) ? schema['required'].filter((name) => typeof name === 'string') : [];

/** The sub-schema under a path of keys and indexes, as far as `properties` and `items` lead. */
export const schemaAt = (schema: JsonSchema, path: readonly PropertyKey[]): JsonSchema | undefined =>
  path.reduce<JsonSchema | undefined>((current, step) => {
    if (current === undefined) return undefined;
    if (typeof step === 'number') return isRecord(current['items']) ? current['items'] : undefined;
    return propertiesOf(current).get(String(step));
  }, schema);

/** Whether the schema marks the value under `path`, or anything above it, as `sensitive: true`. */
export const isSensitive = (schema: JsonSchema, path: readonly PropertyKey[]): boolean =>
  path.some((_, depth) => schemaAt(schema, path.slice(0, depth + 1))?.['sensitive'] === true);
