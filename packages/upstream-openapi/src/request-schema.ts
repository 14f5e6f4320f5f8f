import { defaultOf } from '@recourse/upstreams/nested-defaults';
import { toTypedValue, toTypedValues } from '@recourse/upstreams/typed-values';
import {
  isRecord,
  type JsonRecord,
  listAt,
  memberOf,
  recordAt,
  textAt,
  textsAt,
} from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import { toEcmaScript } from 'recourse-server/tools/foreign-patterns';
import { loosenSchema, mapParts } from 'recourse-server/tools/loosen-schema';
import type { OpenApiDocument } from './parse-document.ts';
import { toPlainText } from './plain-text.ts';
import { followReferences, OperationProblem, resolveReference } from './references.ts';
import { type MostOfValue, sizeOf } from './value-size.ts';

/** Turns schemas of a document into JSON Schema (draft 2020-12) for what a model sends. One per operation. */
export type RequestSchemas = {
  /** Refers to definitions by `#/$defs/…`. Throws an OperationProblem. */
  readonly toSchema: (source: unknown) => JsonSchema;
  /** The default of a schema that `toSchema` gave, or of what it refers to; undefined where there is none. */
  readonly defaultOf: (schema: JsonSchema) => unknown;
  /** Whether nothing but an object without members fits a schema that `toSchema` gave. */
  readonly isForEmptyObjects: (schema: JsonSchema) => boolean;
  /** All definitions that the schemas so far refer to, by name. */
  readonly definitions: () => Readonly<Record<string, JsonSchema>>;
  /** A schema made of these, in which nothing is refused because a part fits of which words were left out. */
  readonly settle: (schema: JsonSchema) => JsonSchema;
};

/**
 * Schemas as requests use them: what is `readOnly` is left out, references become `$defs`, the words of 3.0 (nullable,
 * boolean exclusiveMinimum, example) become those of JSON Schema, and words that no validator knows are dropped.
 */
export const createRequestSchemas = (document: OpenApiDocument): RequestSchemas => {
  const work: Work = {
    ...document,
    names: new Map(),
    definitions: new Map(),
    readOnlyNames: new Map(),
    stepsLeft: MOST_STEPS,
    charactersLeft: MOST_SCHEMA.characters,
    hasMarks: false,
  };
  return {
    toSchema: (source) => convert(work, source, { readOnly: NO_NAMES, level: 0, depth: 0 }),
    defaultOf: (schema) => defaultOf(schema, (name) => work.definitions.get(name)),
    isForEmptyObjects: (schema) => isForEmptyObjects(work, schema),
    definitions: () => Object.fromEntries(work.definitions),
    settle: (schema) => (work.hasMarks ? withoutMarks(loosenSchema(schema, isMarked)) : schema),
  };
};

const isForEmptyObjects = ({ definitions }: Pick<Work, 'definitions'>, schema: JsonSchema): boolean => {
  const target = definitions.get(String(schema['$ref']).replace('#/$defs/', '')) ?? schema;
  return target['type'] === 'object' && target['additionalProperties'] === false && !('properties' in target);
};

type Work = OpenApiDocument & {
  /** Reference → name of its definition. */
  readonly names: Map<string, string>;
  readonly definitions: Map<string, JsonSchema>;
  /** What was found out of each schema of the document. */
  readonly readOnlyNames: Map<JsonRecord, ReadonlySet<string>>;
  /** How much more may be done for the operation. */
  stepsLeft: number;
  /** How much more text its schemas may have. */
  charactersLeft: number;
  /** Whether words were left out that make a schema fit less: until the schema is settled, marks say where. */
  hasMarks: boolean;
};

const MARK = { $comment: 'fits more than it says' };
const isMarked = ({ $comment }: JsonSchema): boolean => $comment === MARK.$comment;
const withoutMarks = ({ $comment: _mark, discriminator: _choice, ...schema }: JsonSchema): JsonSchema =>
  mapParts(schema, withoutMarks);

// Which no request schema has here.
const DROPPED = ['unevaluatedProperties', 'unevaluatedItems', 'dependentRequired', 'dependencies', '$dynamicRef'];

/** The marks of a schema of the document that is told as `told`. */
const toMarks = (work: Work, source: JsonRecord, told: JsonSchema, readOnly: ReadonlySet<string>): JsonSchema => {
  const names = [...Object.keys(recordAt(source, 'properties')), ...textsAt(source, 'required')];
  const isRelaxed =
    DROPPED.some((word) => word in source) ||
    ['format', 'pattern'].some((word) => typeof source[word] === 'string' && told[word] === undefined) ||
    (readOnly.size > 0 && names.some((name) => readOnly.has(name)));
  const mayFitTwice = isRecord(source['discriminator']) && 'oneOf' in source;
  if (isRelaxed || mayFitTwice) work.hasMarks = true;
  return { ...(isRelaxed ? MARK : {}), ...(mayFitTwice ? { discriminator: {} } : {}) };
};
/** `level` counts within one definition, `depth` through all that lead here. */
type Place = { readonly readOnly: ReadonlySet<string>; readonly level: number; readonly depth: number };

const MOST_LEVELS = 64;
// The validator is made recursively, along the references: its stack was full at some 800 definitions.
const MOST_DEPTH = 320;
const MOST_DEFINITIONS = 1_000;
// Megabytes of schema: no model reads it, and its validator takes seconds to make.
const MOST_STEPS = 100_000;
// GitHub's largest is 24 KB. What is larger fills the catalogue that every agent reads, and no model takes it.
export const MOST_SCHEMA: MostOfValue = { values: 20_000, characters: 262_144 };
const TEXTS = ['description', 'title', 'pattern', 'enum', 'const', 'default', 'required'];
const NO_NAMES: ReadonlySet<string> = new Set();
const ONE_SCHEMA = ['items', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else', 'contains'];
const LISTS_OF_SCHEMAS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const MAPS_OF_SCHEMAS = ['properties', 'patternProperties', 'dependentSchemas'];

/** Counts what is done. Throws an OperationProblem where it is too much, or too deep. */
const spend = (work: Work, steps: number, depth: number): void => {
  work.stepsLeft -= steps;
  if (work.stepsLeft < 0) throw new OperationProblem(`Its schema has more than ${MOST_STEPS} parts.`);
  if (depth > MOST_DEPTH)
    throw new OperationProblem(`Its schemas refer to each other more than ${MOST_DEPTH} levels deep.`);
};

/** Counts what is written of a schema before it is, each time that it is. */
const spendText = (work: Work, source: JsonRecord): void => {
  const most = { values: MOST_SCHEMA.values, characters: work.charactersLeft };
  const size = sizeOf(
    TEXTS.map((word) => memberOf(source, word)),
    most,
  );
  if (size === null) throw new OperationProblem(TOO_LARGE);
  work.charactersLeft -= size;
};

/** Why an operation whose schema is larger than `MOST_SCHEMA` is unavailable. */
export const TOO_LARGE = 'Its schema is larger than 256 KiB, or has more than 20000 values.';

const convert = (work: Work, source: unknown, place: Place): JsonSchema => {
  const { level, depth } = place;
  spend(work, 1, depth);
  if (level > MOST_LEVELS) throw new OperationProblem(`Its schema is nested more than ${MOST_LEVELS} levels deep.`);
  if (typeof source === 'boolean') return source ? {} : { not: {} };
  if (!isRecord(source)) throw new OperationProblem('It contains a schema that is not an object.');
  const reference = memberOf(source, '$ref');
  if (typeof reference === 'string' && work.schemas === 'of_3_0')
    return { $ref: `#/$defs/${toDefinitionName(work, reference, depth + 1)}` };
  spendText(work, source);
  const readOnly = new Set([...place.readOnly, ...readOnlyNames(work, source, depth)]);
  if (typeof reference === 'string') {
    const beside = convert(work, withoutReference(source), { ...place, readOnly });
    return { $ref: `#/$defs/${toDefinitionName(work, reference, depth + 1)}`, ...beside };
  }
  const below: Place = { readOnly: NO_NAMES, level: level + 1, depth: depth + 1 };
  const nested = [
    ...ONE_SCHEMA.flatMap((word) => toOne(work, source, word, below)),
    ...LISTS_OF_SCHEMAS.flatMap((word) => toList(work, source, word, { ...below, readOnly })),
    ...MAPS_OF_SCHEMAS.flatMap((word) => toMap(work, source, word, { ...below, readOnly })),
  ];
  const told = toPlainKeywords(source, work.schemas, readOnly);
  const marks = toMarks(work, source, told, readOnly);
  return withNull({ ...told, ...marks, ...Object.fromEntries(nested) }, source, work);
};

const withoutReference = (source: JsonRecord): JsonRecord => {
  const { $ref: _reference, ...beside } = source;
  return beside;
};

const toDefinitionName = (work: Work, reference: string, depth: number): string => {
  const known = work.names.get(reference);
  if (known !== undefined) return known;
  if (work.names.size === MOST_DEFINITIONS)
    throw new OperationProblem(`It takes more than ${MOST_DEFINITIONS} schemas.`);
  const target = resolveReference(work.root, reference);
  const stem = (reference.split('/').at(-1) ?? '').replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 60) || 'schema';
  let name = stem;
  for (let count = 2; work.definitions.has(name); count += 1) name = `${stem}_${count}`;
  work.names.set(reference, name);
  // Before its own references are followed, so that a circle ends here.
  work.definitions.set(name, {});
  work.definitions.set(name, convert(work, target, { readOnly: NO_NAMES, level: 0, depth }));
  return name;
};

type Entry = readonly [string, unknown];

const toOne = (work: Work, source: JsonRecord, word: string, place: Place): readonly Entry[] => {
  const part = memberOf(source, word);
  if (typeof part === 'boolean') return [[word, part]];
  return isRecord(part) ? [[word, convert(work, part, place)]] : [];
};

const toList = (work: Work, source: JsonRecord, word: string, place: Place): readonly Entry[] => {
  const parts = memberOf(source, word);
  return Array.isArray(parts) && parts.length > 0 ? [[word, parts.map((part) => convert(work, part, place))]] : [];
};

const toMap = (work: Work, source: JsonRecord, word: string, { readOnly, level, depth }: Place): readonly Entry[] => {
  const parts = Object.entries(recordAt(source, word)).filter(([name]) => word !== 'properties' || !readOnly.has(name));
  const toPart = (part: unknown): JsonSchema => convert(work, part, { readOnly: NO_NAMES, level, depth });
  return parts.length > 0 ? [[word, Object.fromEntries(parts.map(([name, part]) => [name, toPart(part)]))]] : [];
};

/** The properties that only answers have, here and in what this refers to or combines by `allOf`. */
const readOnlyNames = (work: Work, source: JsonRecord, depth: number): ReadonlySet<string> => {
  const known = work.readOnlyNames.get(source);
  if (known !== undefined) return known;
  spend(work, 1, depth);
  // In a circle it adds nothing to itself.
  work.readOnlyNames.set(source, NO_NAMES);
  const own = Object.entries(recordAt(source, 'properties')).filter(([, value]) => isReadOnly(work, value));
  const reference = memberOf(source, '$ref');
  const target = typeof reference === 'string' ? resolveReference(work.root, reference) : undefined;
  const parts = [target, ...listAt(source, 'allOf')].filter(isRecord);
  const names = new Set([
    ...own.map(([name]) => name),
    ...parts.flatMap((part) => [...readOnlyNames(work, part, depth + 1)]),
  ]);
  spend(work, names.size, depth);
  work.readOnlyNames.set(source, names);
  return names;
};

const isReadOnly = ({ root }: Work, source: unknown): boolean =>
  isRecord(source) && (source['readOnly'] === true || followReferences(root, source)['readOnly'] === true);

/** `nullable` of 3.0 as JSON Schema says it. */
const withNull = (schema: JsonSchema, source: JsonRecord, { schemas }: Work): JsonSchema => {
  if (schemas !== 'of_3_0' || source['nullable'] !== true) return schema;
  const { type, description } = schema;
  const values = schema['enum'];
  const isPlain = typeof type === 'string' && !['allOf', 'anyOf', 'oneOf', 'not'].some((word) => word in schema);
  if (!isPlain) return { ...(description === undefined ? {} : { description }), anyOf: [schema, { type: 'null' }] };
  const withValues = Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {};
  return { ...schema, type: [type, 'null'], ...withValues };
};

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
// Those that are checked here; others (`sha1`, `markdown`) say nothing that a validator knows.
const FORMATS: ReadonlySet<unknown> = new Set([
  ...['date-time', 'date', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference', 'uuid'],
  ...['int32', 'int64', 'float', 'double', 'byte', 'password', 'json-pointer', 'regex'],
]);
const COUNTS = [
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
  ...['minContains', 'maxContains'],
];
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const LONGEST_EXAMPLE = 200;
const MOST_OF_EXAMPLE = { values: LONGEST_EXAMPLE, characters: LONGEST_EXAMPLE };

/**
 * The words of a schema that hold no schemas, those alone that are well-formed: a validator refuses the whole schema
 * for one that is not.
 */
const toPlainKeywords = (
  source: JsonRecord,
  schemas: OpenApiDocument['schemas'],
  readOnly: ReadonlySet<string>,
): JsonSchema =>
  Object.fromEntries(
    // A map first: of two entries for one word the later counts, also where it takes the word away.
    [
      ...new Map([
        ...toTypeWords(source),
        ...toTextWords(source),
        ...toNumberWords(source, schemas),
        ...toValueWords(source),
        ...toObjectWords(source, readOnly),
      ]),
    ].filter(([, value]) => value !== undefined),
  );

type Word = readonly [string, unknown];

const toTypes = (source: JsonRecord): readonly unknown[] =>
  [...new Set([source['type']].flat())].filter((type) => TYPES.has(type));

const toTypeWords = (source: JsonRecord): readonly Word[] => {
  const types = toTypes(source);
  // The format is called `uri`; documents that call it `url` are many.
  const format = source['format'] === 'url' ? 'uri' : source['format'];
  return [
    ['type', types.length > 1 ? types : types[0]],
    ['format', FORMATS.has(format) ? format : undefined],
  ];
};

const toTextWords = (source: JsonRecord): readonly Word[] => {
  const description = toTextAt(source, 'description');
  const pattern = textAt(source, 'pattern');
  return [
    ['title', description === undefined ? toTextAt(source, 'title') : undefined],
    ['description', description],
    ['pattern', pattern === undefined ? undefined : (toEcmaScript(pattern) ?? undefined)],
    ['deprecated', source['deprecated'] === true ? true : undefined],
  ];
};

const toTextAt = (source: JsonRecord, name: string): string | undefined => {
  const text = toPlainText(textAt(source, name) ?? '');
  return text === '' ? undefined : text;
};

const toNumberWords = (source: JsonRecord, schemas: OpenApiDocument['schemas']): readonly Word[] => {
  const numbers = NUMBERS.map((word): Word => [word, toNumber(source[word])]);
  const counts = COUNTS.map((word): Word => [word, isCount(source[word]) ? source[word] : undefined]);
  const step = toNumber(source['multipleOf']);
  const words: readonly Word[] = [
    ...numbers,
    ...counts,
    ['multipleOf', step !== undefined && step > 0 ? step : undefined],
  ];
  if (schemas === 'json_schema') return words;
  // In 3.0 a flag says that the bound itself is outside.
  return [
    ...words,
    ...(source['exclusiveMinimum'] === true ? toExclusive('exclusiveMinimum', 'minimum', source) : []),
    ...(source['exclusiveMaximum'] === true ? toExclusive('exclusiveMaximum', 'maximum', source) : []),
  ];
};

const toExclusive = (word: string, bound: string, source: JsonRecord): readonly Word[] => [
  [word, toNumber(source[bound])],
  [bound, undefined],
];

const toNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

const toValueWords = (source: JsonRecord): readonly Word[] => {
  const types = toTypes(source);
  const values = toTypedValues(listAt(source, 'enum'), types);
  const examples = [...listAt(source, 'examples'), ...('example' in source ? [source['example']] : [])];
  const example = examples
    .map((value) => toTypedValue(value, types))
    .find(
      (value) =>
        sizeOf(value, MOST_OF_EXAMPLE) !== null && (JSON.stringify(value)?.length ?? Infinity) <= LONGEST_EXAMPLE,
    );
  return [
    ['enum', values.length > 0 ? values : undefined],
    ['const', toTypedValue(source['const'], types)],
    ['default', toTypedValue(source['default'], types)],
    ['examples', example === undefined ? undefined : [example]],
    ['uniqueItems', source['uniqueItems'] === true ? true : undefined],
  ];
};

const toObjectWords = (source: JsonRecord, readOnly: ReadonlySet<string>): readonly Word[] => {
  const required = [...new Set(textsAt(source, 'required'))].filter((name) => !readOnly.has(name));
  return [['required', required.length > 0 ? required : undefined]];
};

const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'];

/**
 * The name of a definition that speaks of the same value as itself again, or null: a validator would follow it until
 * the stack is full. A tree whose nodes hold nodes is none. Each definition is looked at once, never recursively.
 */
export const findEndlessSchema = (definitions: Readonly<Record<string, JsonSchema>>): string | null => {
  const all = new Map(Object.entries(definitions));
  const states = new Map<string, 'open' | 'ended'>();
  const stack = [...all.keys()];
  for (let name = stack.at(-1); name !== undefined; name = stack.at(-1)) {
    if (states.has(name)) {
      // All that it refers to was above it.
      states.set(name, 'ended');
      stack.pop();
      continue;
    }
    states.set(name, 'open');
    const next = referredByValue(all.get(name)).filter((one) => states.get(one) !== 'ended');
    // What is open leads here, and this leads back to it.
    const endless = next.find((one) => states.has(one));
    if (endless !== undefined) return endless;
    for (const one of next) stack.push(one);
  }
  return null;
};

// Recursive: definitions that come here are at most 64 levels deep.
const referredByValue = (schema: unknown): readonly string[] => {
  if (!isRecord(schema)) return [];
  const reference = schema['$ref'];
  const own = typeof reference === 'string' ? [reference.replace('#/$defs/', '')] : [];
  const parts = [...SAME_VALUE.flatMap((word) => schema[word]), ...Object.values(recordAt(schema, 'dependentSchemas'))];
  return [...own, ...parts.flatMap(referredByValue)];
};
