import { isRecord } from 'recourse-server/contract/json-record';

type Schema = Readonly<Record<string, unknown>>;

const listOf = (value: unknown): readonly unknown[] | null => (Array.isArray(value) ? value : null);

/** What a local `$ref` (RFC 6901 pointer behind `#`) points to; undefined where there is nothing. */
export const resolveReference = (reference: unknown, root: unknown): unknown => {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  let target = root;
  for (const step of reference.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined;
    target = Reflect.get(target, name);
  }
  return target;
};

// A memo by root: a schema never changes.
const verdictsOf = new WeakMap<Schema, WeakMap<Schema, boolean>>();

/**
 * Whether a JSON Schema takes null, as far as its type, literals and combinations tell; what tells nothing takes it, and
 * so does a circle of references. Strict schemas make nullable what this refuses, and what a model then sends as null is
 * dropped: both must agree. Each schema is judged once, never recursively: a kilobyte may combine parts in 2^60 ways.
 */
export const acceptsNull = (schema: unknown, root: Schema): boolean => {
  if (!isRecord(schema)) return schema !== false;
  const verdicts = verdictsOf.get(root) ?? new WeakMap();
  verdictsOf.set(root, verdicts);
  if (!verdicts.has(schema)) judge(schema, root, verdicts);
  return verdicts.get(schema) ?? true;
};

/** What a schema says of null itself, the parts that must all take it, and the lists of which one part must. */
type Parts = {
  readonly own: boolean;
  readonly all: readonly unknown[];
  readonly someOf: readonly (readonly unknown[])[];
};

const toParts = (schema: Schema, root: Schema): Parts => ({
  own: acceptsLiteral(schema),
  all: [
    ...(listOf(schema['allOf']) ?? []),
    ...(schema['$ref'] === undefined ? [] : [resolveReference(schema['$ref'], root) ?? true]),
  ],
  someOf: [listOf(schema['anyOf']), listOf(schema['oneOf'])].filter((list) => list !== null),
});

const acceptsLiteral = (schema: Schema): boolean => {
  const type = schema['type'];
  if (type !== undefined && ![type].flat().includes('null')) return false;
  if ('const' in schema && schema['const'] !== null) return false;
  return listOf(schema['enum'])?.includes(null) ?? true;
};

const schemasIn = ({ all, someOf }: Parts): readonly Schema[] => [...all, ...someOf.flat()].filter(isRecord);

// A schema with more is not written strictly: nothing of it is made nullable, and nothing dropped.
const MOST_PARTS = 50_000;

/** Fills in the verdicts of a schema and of all its parts: all take null until a part refuses it. */
const judge = (start: Schema, root: Schema, verdicts: WeakMap<Schema, boolean>): void => {
  const found = new Map<Schema, Parts>();
  const stack = [start];
  for (let schema = stack.pop(); schema !== undefined && found.size < MOST_PARTS; schema = stack.pop()) {
    if (found.has(schema)) continue;
    const parts = toParts(schema, root);
    found.set(schema, parts);
    for (const part of schemasIn(parts).filter((one) => !verdicts.has(one))) stack.push(part);
  }
  for (const schema of found.keys()) verdicts.set(schema, true);
  if (found.size < MOST_PARTS) spreadRefusals(found, verdicts);
};

const spreadRefusals = (found: ReadonlyMap<Schema, Parts>, verdicts: WeakMap<Schema, boolean>): void => {
  const accepts = (part: unknown): boolean => (isRecord(part) ? (verdicts.get(part) ?? true) : part !== false);
  const acceptsAll = ({ own, all, someOf }: Parts): boolean =>
    own && all.every(accepts) && someOf.every((list) => list.some(accepts));
  const wholesOf = toWholes(found);
  // The last found first: parts before what combines them, which is then mostly looked at once.
  const doubtful = new Set([...found.keys()].reverse());
  for (const schema of doubtful) {
    doubtful.delete(schema);
    const parts = found.get(schema);
    if (parts === undefined || verdicts.get(schema) === false || acceptsAll(parts)) continue;
    verdicts.set(schema, false);
    // A set that grows while it is walked is walked to its end.
    for (const whole of wholesOf.get(schema) ?? []) doubtful.add(whole);
  }
};

/** Part → what combines it. */
const toWholes = (found: ReadonlyMap<Schema, Parts>): ReadonlyMap<Schema, readonly Schema[]> => {
  const wholesOf = new Map<Schema, Schema[]>();
  for (const [whole, parts] of found)
    for (const part of schemasIn(parts)) {
      const wholes = wholesOf.get(part);
      if (wholes === undefined) wholesOf.set(part, [whole]);
      else wholes.push(whole);
    }
  return wholesOf;
};
