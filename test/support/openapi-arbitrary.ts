import fc from 'fast-check';
import type { JsonSchema, OpenapiDocument } from './openapi-document.ts';

/** Makes values that fit the schema of what has this name. */
export type ToArbitrary = (name: string, schema: unknown) => fc.Arbitrary<unknown>;

const isRecord = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const recordOf = (value: unknown): JsonSchema => (isRecord(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const numberOf = (value: unknown, standard: number): number => (typeof value === 'number' ? value : standard);

// What JSON can hold; -0 is written as 0.
const anyJson = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' });

// Longer strings and lists are the matter of mutations.
const MAX_LENGTH = 40;
const MAX_ITEMS = 6;

/**
 * Arbitraries for the part of JSON Schema that the document is written in; fails on a keyword it does not know, or a
 * constraint that is added later would silently not be obeyed. `known` are values that mean something, by the
 * name of what has them.
 */
export const createToArbitrary = (
  document: Pick<OpenapiDocument, 'components'>,
  known: Readonly<Record<string, fc.Arbitrary<unknown>>> = {},
): ToArbitrary => {
  const ofProperty = (name: string, schema: unknown): fc.Arbitrary<unknown> => {
    const good = Object.hasOwn(known, name) ? known[name] : undefined;
    return good === undefined
      ? ofSchema(schema)
      : fc.oneof({ weight: 3, arbitrary: good }, { weight: 1, arbitrary: ofSchema(schema) });
  };
  const ofObject = (schema: JsonSchema): fc.Arbitrary<unknown> => {
    const properties = Object.entries(recordOf(schema['properties']));
    const required = listOf(schema['required']).filter((name) => typeof name === 'string');
    const named = fc.record(Object.fromEntries(properties.map(([name, of]) => [name, ofProperty(name, of)])), {
      requiredKeys: required,
    });
    if (schema['additionalProperties'] === false) return named;
    const extra = fc.dictionary(fc.string({ unit: 'grapheme' }), ofSchema(schema['additionalProperties']), {
      maxKeys: 3,
    });
    return fc.tuple(extra, named).map(([more, own]) => ({ ...more, ...own }));
  };
  const byType: Readonly<Record<string, (schema: JsonSchema) => fc.Arbitrary<unknown>>> = {
    object: ofObject,
    array: (schema) =>
      fc.array(ofSchema(schema['items']), {
        minLength: numberOf(schema['minItems'], 0),
        maxLength: Math.min(MAX_ITEMS, numberOf(schema['maxItems'], MAX_ITEMS)),
      }),
    string: toStrings,
    number: toNumbers,
    integer: toIntegers,
    boolean: () => fc.boolean(),
    null: () => fc.constant(null),
  };
  const ofType = (schema: JsonSchema, type: unknown): fc.Arbitrary<unknown> => {
    const make = byType[String(type)];
    if (make === undefined) throw new Error(`No values for ${JSON.stringify(schema).slice(0, 200)}.`);
    return make(schema);
  };
  const ofSchema = (given: unknown): fc.Arbitrary<unknown> => {
    const schema = recordOf(given);
    refuseUnknown(schema);
    const reference = schema['$ref'];
    if (typeof reference === 'string')
      return ofSchema(document.components[reference.replace('#/components/schemas/', '')]);
    if ('const' in schema) return fc.constant(schema['const']);
    if ('enum' in schema) return fc.constantFrom(...listOf(schema['enum']));
    if ('anyOf' in schema) return fc.oneof(...listOf(schema['anyOf']).map(ofSchema));
    if (!('type' in schema)) return anyJson;
    return fc.oneof(...[schema['type']].flat().map((type) => ofType(schema, type)));
  };
  return ofProperty;
};

const toStrings = (schema: JsonSchema): fc.Arbitrary<string> => {
  if (schema['format'] === 'date-time')
    return fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => new Date(seconds * 1000).toISOString());
  if (typeof schema['pattern'] === 'string') return fc.stringMatching(new RegExp(schema['pattern']));
  const minLength = numberOf(schema['minLength'], 0);
  // To the very end where one is given: characters outside the BMP count once.
  const [maxLength, size] = [
    numberOf(schema['maxLength'], MAX_LENGTH),
    'maxLength' in schema ? 'max' : 'small',
  ] as const;
  return fc
    .string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, 1000), size })
    .map((text) => text.toWellFormed());
};

const toNumbers = (schema: JsonSchema): fc.Arbitrary<number> =>
  fc
    .double({
      min: numberOf(schema['minimum'], numberOf(schema['exclusiveMinimum'], -1e12)),
      max: numberOf(schema['maximum'], 1e12),
      minExcluded: 'exclusiveMinimum' in schema,
      noNaN: true,
    })
    .map((number) => (number === 0 ? 0 : number));

const toIntegers = (schema: JsonSchema): fc.Arbitrary<number> =>
  fc.maxSafeInteger().map((number) => {
    const min = numberOf(schema['minimum'], Number.MIN_SAFE_INTEGER);
    const max = numberOf(schema['maximum'], Number.MAX_SAFE_INTEGER);
    return Math.min(max, Math.max(min, number));
  });

const KEYWORDS = new Set([
  ...['$ref', 'const', 'enum', 'anyOf', 'type', 'properties', 'required', 'additionalProperties', 'propertyNames'],
  ...['items', 'minItems', 'maxItems', 'minLength', 'maxLength', 'pattern', 'minimum', 'maximum', 'exclusiveMinimum'],
  ...['description', 'examples', 'example', 'default', 'title', '$schema'],
]);
const FORMATS: ReadonlySet<unknown> = new Set([undefined, 'date-time']);

const refuseUnknown = (schema: JsonSchema): void => {
  const strange = Object.keys(schema).filter((keyword) => !KEYWORDS.has(keyword) && keyword !== 'format');
  if (!FORMATS.has(schema['format'])) strange.push(`format ${String(schema['format'])}`);
  if (strange.length > 0) throw new Error(`The generator does not know ${strange.join(', ')}: teach it.`);
};
