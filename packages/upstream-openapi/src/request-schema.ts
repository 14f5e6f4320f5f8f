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
import { sizeOf } from './value-size.ts';

const MARK = { $comment: 'fits more than it says' };
// Which no request schema has here.
const DROPPED = ['unevaluatedProperties', 'unevaluatedItems', 'dependentRequired', 'dependencies', '$dynamicRef'];

const MOST_LEVELS = 64;
// The validator is made recursively, along the references: its stack was full at some 800 definitions.
const MOST_DEPTH = 320;
const MOST_DEFINITIONS = 1_000;
// Megabytes of schema: no model reads it, and its validator takes seconds to make.
const MOST_STEPS = 100_000;
// GitHub's largest is 24 KB. What is larger fills the catalogue that every agent reads, and no model takes it.
const MOST_SCHEMA = { values: 20_000, characters: 262_144 };
const TOO_LARGE = 'Its schema is larger than 256 KiB, or has more than 20000 values.';
const TEXTS = ['description', 'title', 'pattern', 'enum', 'const', 'default', 'required'];
const NO_NAMES: ReadonlySet<string> = new Set();
const ONE_SCHEMA = ['items', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else', 'contains'];
const LISTS_OF_SCHEMAS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const MAPS_OF_SCHEMAS = ['patternProperties', 'dependentSchemas'];

/** Where a schema stands. `level` counts within one definition, `depth` through all that lead here. */
type Place = { readonly readOnly: ReadonlySet<string>; readonly level: number; readonly depth: number };

/** Throws an OperationProblem where a schema is more than a model can be told. */
export const checkSize = (schema: unknown): void => {
  if (sizeOf(schema, MOST_SCHEMA) === null) throw new OperationProblem(TOO_LARGE);
};

/**
 * Turns schemas of a document into JSON Schema (draft 2020-12) for what a model sends: what is `readOnly` is left out,
 * references become `$defs`, the words of 3.0 (nullable, boolean exclusiveMinimum, example) become those of JSON Schema,
 * and words that no validator knows are dropped. One for each operation; owns its definitions and how much more may be
 * done for it.
 */
export class RequestSchemas {
  readonly #document: OpenApiDocument;
  /** Reference → name of its definition. */
  readonly #names = new Map<string, string>();
  readonly #definitions = new Map<string, JsonSchema>();
  readonly #readOnlyNames = new Map<JsonRecord, ReadonlySet<string>>();
  #stepsLeft = MOST_STEPS;
  #charactersLeft = MOST_SCHEMA.characters;
  /** Whether words were left out that make a schema fit less: until the schema is settled, marks say where. */
  #hasMarks = false;

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /** Refers to definitions by `#/$defs/…`. Throws an OperationProblem. */
  convert(source: unknown): JsonSchema {
    return this.#convert(source, { readOnly: NO_NAMES, level: 0, depth: 0 });
  }

  /** The default of a schema that `convert` gave, or of what it refers to; undefined where there is none. */
  readonly defaultOf = (schema: JsonSchema): unknown => defaultOf(schema, (name) => this.#definitions.get(name));

  /** Whether nothing but an object without members fits a schema that `convert` gave. */
  isForEmptyObjects(schema: JsonSchema): boolean {
    const target = this.#definitions.get(String(schema['$ref']).replace('#/$defs/', '')) ?? schema;
    return target['type'] === 'object' && target['additionalProperties'] === false && !('properties' in target);
  }

  /** All definitions that the schemas so far refer to, by name. */
  definitions(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(this.#definitions);
  }

  /** A schema made of these, in which nothing is refused because a part fits of which words were left out. */
  settle(schema: JsonSchema): JsonSchema {
    const isMarked = ({ $comment }: JsonSchema): boolean => $comment === MARK.$comment;
    const removeMarks = ({ $comment: _mark, discriminator: _choice, ...rest }: JsonSchema): JsonSchema =>
      mapParts(rest, removeMarks);
    return this.#hasMarks ? removeMarks(loosenSchema(schema, isMarked)) : schema;
  }

  #convert(source: unknown, place: Place): JsonSchema {
    const { level, depth } = place;
    this.#spend(1, depth);
    if (level > MOST_LEVELS) throw new OperationProblem(`Its schema is nested more than ${MOST_LEVELS} levels deep.`);
    if (typeof source === 'boolean') return source ? {} : { not: {} };
    if (!isRecord(source)) throw new OperationProblem('It contains a schema that is not an object.');
    const reference = memberOf(source, '$ref');
    if (typeof reference !== 'string') return this.#convertOwn(source, place);
    // In 3.0 nothing counts beside a reference.
    const { $ref: _reference, ...beside } = source;
    const isAlone = this.#document.schemas === 'of_3_0' || Object.keys(beside).length === 0;
    const own = isAlone ? {} : this.#convertOwn(beside, { ...place, readOnly: this.#addReadOnly(source, place) });
    return { $ref: `#/$defs/${this.#defineReferred(reference, depth + 1)}`, ...own };
  }

  #convertOwn(source: JsonRecord, place: Place): JsonSchema {
    this.#spendText(source);
    const readOnly = this.#addReadOnly(source, place);
    const below: Place = { readOnly: NO_NAMES, level: place.level + 1, depth: place.depth + 1 };
    const isSent = ([name]: readonly [string, unknown]): boolean => !readOnly.has(name);
    const words = readWords(source, this.#document.schemas, readOnly);
    const parts = [
      ...ONE_SCHEMA.map((word) => [word, this.#convertOne(memberOf(source, word), below)] as const),
      ...LISTS_OF_SCHEMAS.map(
        (word) => [word, this.#convertList(listAt(source, word), { ...below, readOnly })] as const,
      ),
      [
        'properties',
        this.#convertMembers(Object.entries(recordAt(source, 'properties')).filter(isSent), below),
      ] as const,
      ...MAPS_OF_SCHEMAS.map(
        (word) => [word, this.#convertMembers(Object.entries(recordAt(source, word)), below)] as const,
      ),
    ].filter(([, part]) => part !== undefined);
    const schema = { ...words, ...this.#markRelaxed(source, words, readOnly), ...Object.fromEntries(parts) };
    return this.#document.schemas === 'of_3_0' && source['nullable'] === true ? addNull(schema) : schema;
  }

  #convertOne(part: unknown, place: Place): JsonSchema | boolean | undefined {
    if (typeof part === 'boolean') return part;
    return isRecord(part) ? this.#convert(part, place) : undefined;
  }

  #convertList(parts: readonly unknown[], place: Place): readonly JsonSchema[] | undefined {
    return parts.length > 0 ? parts.map((part) => this.#convert(part, place)) : undefined;
  }

  #convertMembers(members: readonly (readonly [string, unknown])[], place: Place): JsonRecord | undefined {
    const converted = members.map(([name, part]) => [name, this.#convert(part, place)]);
    return converted.length > 0 ? Object.fromEntries(converted) : undefined;
  }

  /** The name of the definition that a reference leads to. */
  #defineReferred(reference: string, depth: number): string {
    const existing = this.#names.get(reference);
    if (existing !== undefined) return existing;
    if (this.#names.size === MOST_DEFINITIONS)
      throw new OperationProblem(`It takes more than ${MOST_DEFINITIONS} schemas.`);
    const target = resolveReference(this.#document.root, reference);
    const stem = (reference.split('/').at(-1) ?? '').replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 60) || 'schema';
    let name = stem;
    for (let count = 2; this.#definitions.has(name); count += 1) name = `${stem}_${count}`;
    this.#names.set(reference, name);
    // Before its own references are followed, so that a circle ends here.
    this.#definitions.set(name, {});
    this.#definitions.set(name, this.#convert(target, { readOnly: NO_NAMES, level: 0, depth }));
    return name;
  }

  #addReadOnly(source: JsonRecord, { readOnly, depth }: Place): ReadonlySet<string> {
    return new Set([...readOnly, ...this.#findReadOnly(source, depth)]);
  }

  /** The properties that only answers have, here and in what this refers to or combines by `allOf`. */
  #findReadOnly(source: JsonRecord, depth: number): ReadonlySet<string> {
    const existing = this.#readOnlyNames.get(source);
    if (existing !== undefined) return existing;
    const { root } = this.#document;
    this.#spend(1, depth);
    // In a circle it adds nothing to itself.
    this.#readOnlyNames.set(source, NO_NAMES);
    const own = Object.entries(recordAt(source, 'properties')).filter(
      ([, value]) =>
        isRecord(value) && (value['readOnly'] === true || followReferences(root, value)['readOnly'] === true),
    );
    const reference = memberOf(source, '$ref');
    const target = typeof reference === 'string' ? resolveReference(root, reference) : undefined;
    const parts = [target, ...listAt(source, 'allOf')].filter(isRecord);
    const names = new Set([
      ...own.map(([name]) => name),
      ...parts.flatMap((part) => [...this.#findReadOnly(part, depth + 1)]),
    ]);
    this.#spend(names.size, depth);
    this.#readOnlyNames.set(source, names);
    return names;
  }

  /** Marks where a schema fits more than the document says: `words` are those of it that are left. */
  #markRelaxed(source: JsonRecord, words: JsonSchema, readOnly: ReadonlySet<string>): JsonSchema {
    const names = [...Object.keys(recordAt(source, 'properties')), ...textsAt(source, 'required')];
    const isRelaxed =
      DROPPED.some((word) => word in source) ||
      ['format', 'pattern'].some((word) => typeof source[word] === 'string' && words[word] === undefined) ||
      (readOnly.size > 0 && names.some((name) => readOnly.has(name)));
    const mayFitTwice = isRecord(source['discriminator']) && 'oneOf' in source;
    if (isRelaxed || mayFitTwice) this.#hasMarks = true;
    return { ...(isRelaxed ? MARK : {}), ...(mayFitTwice ? { discriminator: {} } : {}) };
  }

  /** Counts what is done. Throws an OperationProblem where it is too much, or too deep. */
  #spend(steps: number, depth: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new OperationProblem(`Its schema has more than ${MOST_STEPS} parts.`);
    if (depth > MOST_DEPTH)
      throw new OperationProblem(`Its schemas refer to each other more than ${MOST_DEPTH} levels deep.`);
  }

  /** Counts what is written of a schema before it is, each time that it is. */
  #spendText(source: JsonRecord): void {
    const texts = TEXTS.map((word) => memberOf(source, word));
    const size = sizeOf(texts, { values: MOST_SCHEMA.values, characters: this.#charactersLeft });
    if (size === null) throw new OperationProblem(TOO_LARGE);
    this.#charactersLeft -= size;
  }
}

/** `nullable` of 3.0 as JSON Schema says it. */
const addNull = (schema: JsonSchema): JsonSchema => {
  const { type, description, enum: values } = schema;
  const isPlain = typeof type === 'string' && !['allOf', 'anyOf', 'oneOf', 'not'].some((word) => word in schema);
  if (!isPlain) return { ...(description === undefined ? {} : { description }), anyOf: [schema, { type: 'null' }] };
  const withNull = Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {};
  return { ...schema, type: [type, 'null'], ...withNull };
};

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
// Those that are checked here; others (`sha1`, `markdown`) say nothing that a validator knows.
const FORMATS: ReadonlySet<unknown> = new Set([
  ...['date-time', 'date', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference', 'uuid'],
  ...['int32', 'int64', 'float', 'double', 'byte', 'password', 'json-pointer', 'regex'],
]);
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const COUNTS = [
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
  ...['minContains', 'maxContains'],
];
const LONGEST_EXAMPLE = 200;
const MOST_OF_EXAMPLE = { values: LONGEST_EXAMPLE, characters: LONGEST_EXAMPLE };

/**
 * The words of a schema that hold no schemas, those alone that are well-formed: a validator refuses the whole schema
 * for one that is not.
 */
const readWords = (source: JsonRecord, schemas: OpenApiDocument['schemas'], readOnly: ReadonlySet<string>) => {
  const types = [...new Set([source['type']].flat())].filter((type) => TYPES.has(type));
  // The format is called `uri`; documents that call it `url` are many.
  const format = source['format'] === 'url' ? 'uri' : source['format'];
  const description = readText(source, 'description');
  const pattern = textAt(source, 'pattern');
  const words = {
    type: types.length > 1 ? types : types[0],
    format: FORMATS.has(format) ? format : undefined,
    title: description === undefined ? readText(source, 'title') : undefined,
    description,
    pattern: pattern === undefined ? undefined : (toEcmaScript(pattern) ?? undefined),
    deprecated: source['deprecated'] === true || undefined,
    ...readBounds(source, schemas),
    enum: unlessEmpty(toTypedValues(listAt(source, 'enum'), types)),
    const: toTypedValue(source['const'], types),
    default: toTypedValue(source['default'], types),
    examples: unlessEmpty(findExample(source, types)),
    uniqueItems: source['uniqueItems'] === true || undefined,
    required: unlessEmpty([...new Set(textsAt(source, 'required'))].filter((name) => !readOnly.has(name))),
  };
  return Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined));
};

const unlessEmpty = <Item>(items: readonly Item[]): readonly Item[] | undefined =>
  items.length === 0 ? undefined : items;

const readText = (source: JsonRecord, name: string): string | undefined =>
  toPlainText(textAt(source, name) ?? '') || undefined;

const readBounds = (source: JsonRecord, schemas: OpenApiDocument['schemas']): JsonRecord => {
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
  const step = source['multipleOf'];
  const bounds: Record<string, unknown> = Object.fromEntries([
    ...NUMBERS.filter((word) => typeof source[word] === 'number').map((word) => [word, source[word]]),
    ...COUNTS.filter((word) => isCount(source[word])).map((word) => [word, source[word]]),
    ...(typeof step === 'number' && step > 0 ? [['multipleOf', step]] : []),
  ]);
  // In 3.0 a flag says that the bound itself is outside.
  for (const bound of ['minimum', 'maximum']) {
    const word = bound === 'minimum' ? 'exclusiveMinimum' : 'exclusiveMaximum';
    if (schemas !== 'of_3_0' || source[word] !== true) continue;
    bounds[word] = bounds[bound];
    bounds[bound] = undefined;
  }
  return bounds;
};

/** The first example that is short. */
const findExample = (source: JsonRecord, types: readonly unknown[]): readonly unknown[] =>
  [...listAt(source, 'examples'), ...('example' in source ? [source['example']] : [])]
    .map((value) => toTypedValue(value, types))
    .filter(
      (value) =>
        sizeOf(value, MOST_OF_EXAMPLE) !== null && (JSON.stringify(value)?.length ?? Infinity) <= LONGEST_EXAMPLE,
    )
    .slice(0, 1);

const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'];

/**
 * The name of a definition that speaks of the same value as itself again, or null: a validator would follow it until
 * the stack is full. A tree whose nodes hold nodes is none. Recursive: there are at most 1 000 definitions.
 */
export const findEndlessSchema = (definitions: Readonly<Record<string, JsonSchema>>): string | null => {
  const open = new Set<string>();
  const ended = new Set<string>();
  const search = (name: string): string | undefined => {
    if (ended.has(name)) return undefined;
    if (open.has(name)) return name;
    open.add(name);
    const endless = referredByValue(memberOf(definitions, name)).values().map(search).find(Boolean);
    ended.add(name);
    return endless;
  };
  return Object.keys(definitions).values().map(search).find(Boolean) ?? null;
};

const referredByValue = (schema: unknown): readonly string[] => {
  if (!isRecord(schema)) return [];
  const reference = schema['$ref'];
  const own = typeof reference === 'string' ? [reference.replace('#/$defs/', '')] : [];
  const parts = [...SAME_VALUE.flatMap((word) => schema[word]), ...Object.values(recordAt(schema, 'dependentSchemas'))];
  return [...own, ...parts.flatMap(referredByValue)];
};
