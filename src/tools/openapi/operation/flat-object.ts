import { isRecord, type JsonRecord, listAt, recordAt, textsAt } from '../document/json-record.ts';
import { followReferences } from '../document/references.ts';

/** The members of an object schema and which of them must be there. */
export type FlatObject = { readonly properties: ReadonlyMap<string, unknown>; readonly required: ReadonlySet<string> };

const MOST_LEVELS = 8;
// With these the members alone do not say what the object is.
const FURTHER_WORDS = ['oneOf', 'if', 'not', 'patternProperties', 'propertyNames', 'dependentSchemas', '$dynamicRef'];

/**
 * The members that can stand beside other arguments, or null where the schema is not a plain object: `allOf` of plain
 * objects is one; `anyOf` makes it none unless its parts only say what is required, which is left to the API; `oneOf`
 * and an object that says it takes any further members make it none.
 */
export const toFlatObject = (root: JsonRecord, source: unknown): FlatObject | null => {
  const joining: Joining = { root, properties: new Map(), required: new Set(), known: new Map() };
  return join(joining, source, 0) ? joining : null;
};

type Joining = {
  readonly root: JsonRecord;
  readonly properties: Map<string, unknown>;
  readonly required: Set<string>;
  /** What was joined: no member can be there twice, and what is open would go on without end. */
  readonly known: Map<JsonRecord, 'open' | 'with_members' | 'without_members'>;
};

/** Joins a part to the others, each part once. False where it cannot be, and then the whole is no plain object. */
const join = (joining: Joining, source: unknown, level: number): boolean => {
  if (level > MOST_LEVELS || !isRecord(source)) return false;
  const schema = followReferences(joining.root, source);
  const { properties, known } = joining;
  const state = known.get(schema);
  if (state !== undefined) return state === 'without_members';
  const before = properties.size;
  known.set(schema, 'open');
  if (!isPlainObject(schema) || !joinOwn(joining, schema)) return false;
  if (!listAt(schema, 'allOf').every((part) => join(joining, part, level + 1))) return false;
  known.set(schema, properties.size > before ? 'with_members' : 'without_members');
  return true;
};

const joinOwn = ({ properties, required }: Joining, schema: JsonRecord): boolean => {
  const own = Object.entries(recordAt(schema, 'properties'));
  if (own.some(([name]) => properties.has(name))) return false;
  for (const [name, property] of own) properties.set(name, property);
  for (const name of textsAt(schema, 'required')) required.add(name);
  return true;
};

/** With a member for every name that is required and that nothing describes: without it no call could succeed. */
export const withAllRequired = ({ properties, required }: FlatObject): FlatObject => {
  const undescribed = [...required].filter((name) => !properties.has(name));
  return { properties: new Map([...properties, ...undescribed.map((name) => [name, {}] as const)]), required };
};

const isPlainObject = (schema: JsonRecord): boolean => {
  const isObject = schema['type'] === 'object' || 'properties' in schema || 'allOf' in schema || 'required' in schema;
  const further = schema['additionalProperties'] ?? false;
  return (
    isObject &&
    further === false &&
    (schema['type'] ?? 'object') === 'object' &&
    schema['nullable'] !== true &&
    !FURTHER_WORDS.some((word) => word in schema) &&
    listAt(schema, 'anyOf').every(onlyRequires)
  );
};

const onlyRequires = (alternative: unknown): boolean =>
  isRecord(alternative) && Object.keys(alternative).every((word) => word === 'required');
