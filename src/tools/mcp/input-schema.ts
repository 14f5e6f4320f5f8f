import type { JsonSchema } from '../../contract/tool-description.ts';

// What these hold are values, not schemas.
const VALUES: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples']);
// What these hold are schemas under names of the server's own.
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);

/** A server's schema without its `$schema`, as draft 2020-12, and what its `$schema` says for those who read it. */
export type InputSchema = { readonly checked: JsonSchema; readonly dialect: JsonSchema };

/**
 * A server's schema as draft 2020-12, by which arguments are checked. Most servers say draft-07 in `$schema`; what differs
 * for them are tuples: `items` with a list is `prefixItems`, and `additionalItems` is `items`. The validator knows no other
 * dialect by its name, so `$schema` is kept apart: as the server wrote it, unless tuples were rewritten.
 */
export const toInputSchema = (schema: JsonSchema): InputSchema => {
  const { $schema: dialect, ...rest } = schema;
  const checked = toCurrent(rest);
  if (typeof dialect !== 'string') return { checked, dialect: {} };
  const isAsWritten = JSON.stringify(checked) === JSON.stringify(rest);
  return { checked, dialect: { $schema: isAsWritten ? dialect : CURRENT } };
};

const CURRENT = 'https://json-schema.org/draft/2020-12/schema';

const isRecord = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const convert = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(convert);
  return isRecord(value) ? toCurrent(value) : value;
};

const toCurrent = (schema: JsonSchema): JsonSchema => {
  const isTuple = Array.isArray(schema['items']);
  return Object.fromEntries(
    Object.entries(schema).map(([word, value]) => {
      if (VALUES.has(word)) return [word, value];
      if (NAMED.has(word) && isRecord(value)) return [word, mapMembers(value)];
      return [isTuple ? toCurrentWord(word) : word, convert(value)];
    }),
  );
};

const mapMembers = (members: JsonSchema): JsonSchema =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, convert(member)]));

const toCurrentWord = (word: string): string => {
  if (word === 'items') return 'prefixItems';
  return word === 'additionalItems' ? 'items' : word;
};
