import { isRecord, type JsonRecord, listAt, memberOf, recordAt, textsAt } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';

type Definitions = Readonly<Record<string, JsonSchema>>;
type Schemas = {
  readonly definitions: Definitions;
  /** The default of a schema, or of what it refers to; undefined where there is none. */
  readonly defaultOf: (schema: JsonSchema) => unknown;
};

/** Members that an object must have and that a model need not give, with what is sent for them. */
type Defaults = ReadonlyMap<JsonRecord, ReadonlyMap<string, unknown>>;

export type EasedSchemas = {
  readonly arguments: ReadonlyMap<string, JsonSchema>;
  readonly definitions: Definitions;
  /** The arguments with the defaults of the members that are not given. */
  readonly fill: (input: JsonRecord) => JsonRecord;
};

/**
 * Schemas of the arguments of a body in which a required member that has a default is not demanded, however deep it
 * lies. What is an alternative anywhere (`oneOf`, `anyOf`, `not` and the like) stays as it is: which one a value means
 * is told by what it must have. `others`: schemas whose values are sent as they are given.
 */
export const easeNestedDefaults = (
  own: ReadonlyMap<string, JsonSchema>,
  others: readonly JsonSchema[],
  schemas: Schemas,
): EasedSchemas => {
  const defaults = findDefaults([...own.values()], others, schemas);
  const { definitions } = schemas;
  if (defaults.size === 0) return { arguments: own, definitions, fill: (input) => input };
  const ease = (schema: JsonSchema): JsonSchema => withoutDemands(schema, defaults);
  const fill = (input: JsonRecord): JsonRecord => {
    const filled = [...own].flatMap(([name, schema]) =>
      Object.hasOwn(input, name) ? [[name, fillValue([schema], input[name], { defaults, definitions })] as const] : [],
    );
    return { ...input, ...Object.fromEntries(filled) };
  };
  return {
    arguments: new Map([...own].map(([name, schema]) => [name, ease(schema)])),
    definitions: Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, ease(schema)])),
    fill,
  };
};

/** The default of a schema, or of the definition that it refers to by `#/$defs/…`; undefined where there is none. */
export const defaultOf = (schema: JsonSchema, definition: (name: string) => JsonSchema | undefined): unknown => {
  const seen = new Set<JsonSchema>();
  let current: JsonSchema | undefined = schema;
  while (current !== undefined && current['default'] === undefined && !seen.has(current)) {
    seen.add(current);
    current = definition(String(current['$ref']).replace('#/$defs/', ''));
  }
  const found = current?.['default'];
  return found === null && !takesNull(current) ? undefined : found;
};

// Of other schemas null says that there is no default.
const takesNull = (schema: unknown): boolean =>
  isRecord(schema) &&
  ([memberOf(schema, 'type')].flat().includes('null') ||
    [...listAt(schema, 'anyOf'), ...listAt(schema, 'oneOf')].some(takesNull));

const ALTERNATIVES = ['anyOf', 'oneOf', 'prefixItems'];
const CONDITIONS = ['additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else', 'contains'];
const CONDITIONS_BY_NAME = ['patternProperties', 'dependentSchemas'];

const targetOf = (schema: JsonRecord, definitions: Definitions): unknown =>
  memberOf(definitions, String(schema['$ref'] ?? '').replace('#/$defs/', ''));

/** What holds for each value of a schema, for its members and for its items. */
const certainPartsOf = (schema: JsonRecord, definitions: Definitions): readonly unknown[] => [
  targetOf(schema, definitions),
  ...listAt(schema, 'allOf'),
  ...Object.values(recordAt(schema, 'properties')),
  memberOf(schema, 'items'),
];

const uncertainPartsOf = (schema: JsonRecord): readonly unknown[] => [
  ...ALTERNATIVES.flatMap((word) => listAt(schema, word)),
  ...CONDITIONS.map((word) => memberOf(schema, word)),
  ...CONDITIONS_BY_NAME.flatMap((word) => Object.values(recordAt(schema, word))),
];

const findDefaults = (own: readonly JsonSchema[], others: readonly JsonSchema[], schemas: Schemas): Defaults => {
  const { definitions, defaultOf } = schemas;
  const certain = reach(own, (schema) => certainPartsOf(schema, definitions));
  const uncertain = reach([...others, ...[...certain].flatMap(uncertainPartsOf)], (schema) => [
    ...certainPartsOf(schema, definitions),
    ...uncertainPartsOf(schema),
  ]);
  const found = [...certain].flatMap((schema) => {
    if (uncertain.has(schema)) return [];
    const members = recordAt(schema, 'properties');
    const entries = textsAt(schema, 'required').flatMap((name) => {
      const member = memberOf(members, name);
      const fallback = isRecord(member) ? defaultOf(member) : undefined;
      return fallback === undefined ? [] : [[name, fallback] as const];
    });
    return entries.length === 0 ? [] : [[schema, new Map(entries)] as const];
  });
  return new Map(found);
};

/** All schemas that these lead to, themselves included. */
const reach = (from: readonly unknown[], next: (schema: JsonRecord) => readonly unknown[]): ReadonlySet<JsonRecord> => {
  const reached = new Set(from.filter(isRecord));
  // What is added while it is gone through comes last.
  for (const schema of reached) for (const part of next(schema)) if (isRecord(part)) reached.add(part);
  return reached;
};

/** A copy without the demands, along the parts that can have any. */
const withoutDemands = (schema: JsonRecord, defaults: Defaults): JsonSchema => {
  const ease = (part: unknown): unknown => (isRecord(part) ? withoutDemands(part, defaults) : part);
  const members = Object.entries(schema).flatMap(([word, value]): readonly (readonly [string, unknown])[] => {
    if (word === 'required') return listRequired(textsAt(schema, word), defaults.get(schema));
    if (word === 'allOf' && Array.isArray(value)) return [[word, value.map(ease)]];
    if (word === 'items') return [[word, ease(value)]];
    if (word !== 'properties' || !isRecord(value)) return [[word, value]];
    return [[word, Object.fromEntries(Object.entries(value).map(([name, member]) => [name, ease(member)]))]];
  });
  return Object.fromEntries(members);
};

const listRequired = (names: readonly string[], fallbacks: ReadonlyMap<string, unknown> | undefined) => {
  const left = names.filter((name) => fallbacks?.has(name) !== true);
  return left.length === 0 ? [] : [['required', left] as const];
};

/** All schemas that speak of one value at once: each is looked at once for it, in whatever ways they refer to one another. */
const fillValue = (
  schemas: readonly unknown[],
  value: unknown,
  filling: { readonly defaults: Defaults; readonly definitions: Definitions },
): unknown => {
  // What stands for a number is an object, too.
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return value;
  const { defaults, definitions } = filling;
  const all = [...reach(schemas, (schema) => [targetOf(schema, definitions), ...listAt(schema, 'allOf')])];
  if (all.length === 0) return value;
  if (Array.isArray(value)) {
    const items = all.map((schema) => memberOf(schema, 'items'));
    return value.map((item) => fillValue(items, item, filling));
  }
  const present = Object.entries(value).map(([name, member]) => {
    const parts = all.map((schema) => memberOf(recordAt(schema, 'properties'), name));
    return [name, fillValue(parts, member, filling)] as const;
  });
  const added = all.flatMap((schema) => [...(defaults.get(schema) ?? [])]);
  return Object.fromEntries([...present, ...added.filter(([name]) => !Object.hasOwn(value, name))]);
};
