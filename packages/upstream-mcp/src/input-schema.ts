import { defaultOf, easeNestedDefaults } from '@recourse/upstreams/nested-defaults';
import { toTypedValue, toTypedValues } from '@recourse/upstreams/typed-values';
import { isRecord, type JsonRecord, recordAt, textsAt } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';

const CURRENT = 'https://json-schema.org/draft/2020-12/schema';
const INPUT = 'input';

/**
 * A server's schema as draft 2020-12, by which arguments are `checked`. The validator knows no other dialect by its name,
 * so `$schema` is kept apart as `dialect`: as the server wrote it, unless the schema was rewritten. What has a default is
 * not demanded: where the server demands it, `fill` adds the default.
 */
export const readInputSchema = (schema: JsonSchema) => {
  const { $schema: dialect, ...rest } = schema;
  const { definitions: earlier, ...others } = rewriteSchema(rest);
  const current = isRecord(earlier) ? { ...others, $defs: { ...earlier, ...recordAt(others, '$defs') } } : others;
  const isAsWritten = JSON.stringify(current) === JSON.stringify(rest);
  const definitions: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
    Object.entries(recordAt(current, '$defs')).flatMap(([name, one]) => (isRecord(one) ? [[name, one] as const] : [])),
  );
  const eased = easeNestedDefaults(new Map([[INPUT, current]]), [], {
    definitions,
    defaultOf: (one) => defaultOf(one, (name) => (Object.hasOwn(definitions, name) ? definitions[name] : undefined)),
  });
  const checked: JsonSchema = eased.arguments.get(INPUT) ?? current;
  const $defs = { ...recordAt(checked, '$defs'), ...eased.definitions };
  return {
    checked: '$defs' in checked ? { ...checked, $defs } : checked,
    dialect: typeof dialect === 'string' ? { $schema: isAsWritten ? dialect : CURRENT } : {},
    fill: (input: JsonRecord): JsonRecord => recordAt(eased.fill({ [INPUT]: input }), INPUT),
  };
};

/** What a keyword comes to in draft 2020-12, beside the others of its schema; undefined: it says nothing there. */
type Rewrite = (value: unknown, schema: JsonRecord) => unknown;

const keepIf =
  (isFit: (value: unknown) => boolean): Rewrite =>
  (value) => {
    const part = rewritePart(value);
    return isFit(part) ? part : undefined;
  };
const keepNumber = keepIf((value) => typeof value === 'number');
const keepText = keepIf((value) => typeof value === 'string');
const keepFlag = keepIf((value) => typeof value === 'boolean');
const keepCount = keepIf((value) => Number.isSafeInteger(value) && Number(value) >= 0);
const keepSchema = keepIf((value) => isRecord(value) || typeof value === 'boolean');
const keepList = keepIf((value) => Array.isArray(value) && value.length > 0);
const keepNamed: Rewrite = (value) => (isRecord(value) ? rewriteNamed(value) : undefined);
// In draft 4 a flag says that the bound itself is outside.
const keepBound =
  (flag: string): Rewrite =>
  (value, schema) =>
    schema[flag] === true ? undefined : keepNumber(value, schema);
const keepOutside =
  (bound: string): Rewrite =>
  (value, schema) =>
    keepNumber(value === true ? schema[bound] : value, schema);
// What these hold are values, not schemas.
const keepTyped: Rewrite = (value, { type }) => toTypedValue(value, [type].flat());
const keepTypedList: Rewrite = (value, { type }) =>
  Array.isArray(value) ? toTypedValues(value, [type].flat()) : undefined;

const TYPES: ReadonlySet<unknown> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);

const each = (words: readonly string[], rewrite: Rewrite) => words.map((word) => [word, rewrite] as const);

/** Programs write null for what they leave out, and earlier drafts have other forms. */
const REWRITES: ReadonlyMap<string, Rewrite> = new Map<string, Rewrite>([
  ...each(['title', 'description', 'format', 'pattern', '$comment', '$id', '$anchor'], keepText),
  ...each(['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'], keepFlag),
  ...each(['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'], keepCount),
  ...each(['minContains', 'maxContains'], keepCount),
  ...each(['additionalProperties', 'propertyNames', 'contains', 'not', 'if', 'then', 'else'], keepSchema),
  ...each(['items', 'unevaluatedProperties', 'unevaluatedItems'], keepSchema),
  // What these hold are schemas, or names, under names of the server's own.
  ...each(['properties', 'patternProperties', '$defs', 'definitions'], keepNamed),
  ...each(['dependentSchemas', 'dependentRequired', 'dependencies'], keepNamed),
  ...each(['allOf', 'anyOf', 'oneOf', 'prefixItems'], keepList),
  ...each(['const', 'default'], keepTyped),
  ['examples', keepTypedList],
  ['enum', (value, schema) => (Array.isArray(value) && value.length > 0 ? keepTypedList(value, schema) : undefined)],
  ['multipleOf', (value, schema) => (Number(value) > 0 ? keepNumber(value, schema) : undefined)],
  ['minimum', keepBound('exclusiveMinimum')],
  ['maximum', keepBound('exclusiveMaximum')],
  ['exclusiveMinimum', keepOutside('minimum')],
  ['exclusiveMaximum', keepOutside('maximum')],
  // The name of draft 4 for `$id`, which nothing refers to here.
  ['id', () => undefined],
  ['$ref', (value) => (typeof value === 'string' ? value.replace(/^#\/definitions\//, '#/$defs/') : undefined)],
  ['required', (value, schema) => (Array.isArray(value) ? [...new Set(textsAt(schema, 'required'))] : undefined)],
  [
    'type',
    (type) => {
      const types = [...new Set([type].flat())].filter((one) => TYPES.has(one));
      return types.length > 1 ? types : types[0];
    },
  ],
]);

/** The schema in the words of draft 2020-12; a keyword that says nothing in it is left to the server. */
const rewriteSchema = (schema: JsonRecord): JsonSchema => {
  // A tuple of an earlier draft.
  const { items, additionalItems, ...others } = schema;
  const current = Array.isArray(items) ? { ...others, prefixItems: items, items: additionalItems } : schema;
  const members = Object.entries(current).map(([word, value]) => {
    const rewrite = REWRITES.get(word);
    return [word, rewrite === undefined ? rewritePart(value) : rewrite(value, current)] as const;
  });
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
};

const rewritePart = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((one) => one !== null).map(rewritePart);
  return isRecord(value) ? rewriteSchema(value) : value;
};

const rewriteNamed = (members: JsonRecord): JsonRecord =>
  Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, member === null ? {} : rewritePart(member)]),
  );
