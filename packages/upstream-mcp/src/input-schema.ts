import { defaultOf, easeNestedDefaults } from '@recourse/upstreams/nested-defaults';
import { toTypedValue, toTypedValues } from '@recourse/upstreams/typed-values';
import { isRecord, type JsonRecord, recordAt, textsAt } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';

export type InputSchema = {
  /** By which arguments are checked. */
  readonly checked: JsonSchema;
  /** `$schema` as models see it, or nothing. */
  readonly dialect: JsonSchema;
  /** The arguments with the defaults of required members that are not given. */
  readonly fill: (input: JsonRecord) => JsonRecord;
};

const CURRENT = 'https://json-schema.org/draft/2020-12/schema';
const INPUT = 'input';

/**
 * A server's schema as draft 2020-12. The validator knows no other dialect by its name, so `$schema` is kept apart: as the
 * server wrote it, unless the schema was rewritten. What has a default is not demanded: where the server demands it, the
 * default is sent.
 */
export const toInputSchema = (schema: JsonSchema): InputSchema => {
  const { $schema: dialect, ...rest } = schema;
  const { definitions: earlier, ...others } = toCurrent(rest);
  const current = isRecord(earlier) ? { ...others, $defs: { ...earlier, ...recordAt(others, '$defs') } } : others;
  const isAsWritten = JSON.stringify(current) === JSON.stringify(rest);
  const given = typeof dialect === 'string' ? { $schema: isAsWritten ? dialect : CURRENT } : {};
  const definitions: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
    Object.entries(recordAt(current, '$defs')).flatMap(([name, one]) => (isRecord(one) ? [[name, one] as const] : [])),
  );
  const eased = easeNestedDefaults(new Map([[INPUT, current]]), [], {
    definitions,
    defaultOf: (one) => defaultOf(one, (name) => (Object.hasOwn(definitions, name) ? definitions[name] : undefined)),
  });
  const checked = eased.arguments.get(INPUT) ?? current;
  return {
    checked:
      '$defs' in checked ? { ...checked, $defs: { ...recordAt(checked, '$defs'), ...eased.definitions } } : checked,
    dialect: given,
    fill: (input) => {
      const filled = eased.fill({ [INPUT]: input })[INPUT];
      return isRecord(filled) ? filled : input;
    },
  };
};

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isNumber: Check = (value) => typeof value === 'number';
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isSchema: Check = (value) => isRecord(value) || isFlag(value);
const isFilledList: Check = (value) => Array.isArray(value) && value.length > 0;

const wordsOf = (words: readonly string[], check: Check) => words.map((word) => [word, check] as const);

// What these hold are schemas, or names, under names of the server's own.
const NAMED = [
  ...['properties', 'patternProperties', '$defs', 'definitions'],
  ...['dependentSchemas', 'dependentRequired', 'dependencies'],
];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];

/** What the value of a keyword must be: programs write null for what they leave out, and earlier drafts have other forms. */
const FORMS: ReadonlyMap<string, Check> = new Map([
  ...wordsOf(['title', 'description', 'format', 'pattern', '$comment', '$ref', '$id', '$anchor'], isText),
  ...wordsOf(['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'], isFlag),
  ...wordsOf(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'], isNumber),
  ...wordsOf(['multipleOf'], (value) => isNumber(value) && Number(value) > 0),
  ...wordsOf(['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'], isCount),
  ...wordsOf(['minContains', 'maxContains'], isCount),
  ...wordsOf(['items', 'additionalProperties', 'propertyNames', 'contains', 'not', 'if', 'then', 'else'], isSchema),
  ...wordsOf(['unevaluatedProperties', 'unevaluatedItems'], isSchema),
  ...wordsOf(NAMED, isRecord),
  ...wordsOf([...LISTS, 'enum'], isFilledList),
  ...wordsOf(['required', 'examples'], Array.isArray),
]);

const TYPES: ReadonlySet<unknown> = new Set([...['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']]);

/** The schema in the words of draft 2020-12; a keyword that says nothing in it is left to the server. */
const toCurrent = (schema: JsonRecord): JsonSchema => {
  const words = Object.entries(schema).flatMap(([word, value]) => toWords(word, value, schema));
  return Object.fromEntries(words.filter(([word, value]) => FORMS.get(word)?.(value) ?? value !== undefined));
};

type Word = readonly [word: string, value: unknown];

const toWords = (word: string, value: unknown, schema: JsonRecord): readonly Word[] => {
  const isTuple = Array.isArray(schema['items']);
  const rewrite = REWRITES.get(word);
  if (rewrite !== undefined) return [[word, rewrite(value, schema)]];
  return [[isTuple ? (TUPLE_WORDS.get(word) ?? word) : word, toPart(value)]];
};

type Rewrite = (value: unknown, schema: JsonRecord) => unknown;

// In draft 4 a flag says that the bound itself is outside.
const boundOf =
  (flag: string): Rewrite =>
  (value, schema) =>
    schema[flag] === true ? undefined : value;
const outsideOf =
  (bound: string): Rewrite =>
  (value, schema) =>
    value === true ? schema[bound] : value;

// What these hold are values, not schemas.
const typedValue: Rewrite = (value, { type }) => toTypedValue(value, [type].flat());
const typedValues: Rewrite = (value, { type }) => (Array.isArray(value) ? toTypedValues(value, [type].flat()) : value);

const REWRITES: ReadonlyMap<string, Rewrite> = new Map<string, Rewrite>([
  ['const', typedValue],
  ['default', typedValue],
  ['enum', typedValues],
  ['examples', typedValues],
  ['type', (value) => toType(value)],
  // The name of draft 4 for `$id`, which nothing refers to here.
  ['id', () => undefined],
  ['$ref', (value) => (typeof value === 'string' ? value.replace(/^#\/definitions\//, '#/$defs/') : undefined)],
  ['required', (value, schema) => (Array.isArray(value) ? [...new Set(textsAt(schema, 'required'))] : undefined)],
  ['minimum', boundOf('exclusiveMinimum')],
  ['maximum', boundOf('exclusiveMaximum')],
  ['exclusiveMinimum', outsideOf('minimum')],
  ['exclusiveMaximum', outsideOf('maximum')],
  ...NAMED.map((word): [string, Rewrite] => [word, (value) => (isRecord(value) ? toNamed(value) : undefined)]),
]);

// Tuples of earlier drafts.
const TUPLE_WORDS: ReadonlyMap<string, string> = new Map([
  ['items', 'prefixItems'],
  ['additionalItems', 'items'],
]);

const toType = (type: unknown): unknown => {
  const types = [...new Set([type].flat())].filter((one) => TYPES.has(one));
  return types.length > 1 ? types : types[0];
};

const toPart = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((one) => one !== null).map(toPart);
  return isRecord(value) ? toCurrent(value) : value;
};

const toNamed = (members: JsonRecord): JsonRecord =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, member === null ? {} : toPart(member)]));
