type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly unknown[] | null => (Array.isArray(value) ? value : null);

/** What a local `$ref` (RFC 6901 pointer behind `#`) points to; undefined where there is nothing. */
export const resolveReference = (reference: unknown, root: unknown): unknown => {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  return reference
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (target, step) =>
        typeof target === 'object' && target !== null && Object.hasOwn(target, step)
          ? Reflect.get(target, step)
          : undefined,
      root,
    );
};

type Verdicts = WeakMap<Schema, boolean>;

// A memo by root: a schema never changes.
const verdictsOf = new WeakMap<Schema, Verdicts>();

/**
 * Whether a JSON Schema takes null, as far as its type, literals and combinations tell; what tells nothing takes it, and
 * so does a circle of references. Strict schemas make nullable what this refuses, and what a model then sends as null is
 * dropped: both must agree. Each schema is judged once, never recursively: a kilobyte may combine parts in 2^60 ways.
 */
export const acceptsNull = (schema: unknown, root: Schema): boolean => {
  if (!isSchema(schema)) return schema !== false;
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

// A schema with more is not written strictly: nothing of it is made nullable, and nothing dropped.
const MOST_PARTS = 50_000;

/** Fills in the verdicts of a schema and of all its parts. */
const judge = (start: Schema, root: Schema, verdicts: Verdicts): void => {
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

const schemasIn = ({ all, someOf }: Parts): readonly Schema[] => [...all, ...someOf.flat()].filter(isSchema);

/** All take null until a part refuses it: what combines that part is then looked at again. */
const spreadRefusals = (found: ReadonlyMap<Schema, Parts>, verdicts: Verdicts): void => {
  const accepts = (part: unknown): boolean => (isSchema(part) ? (verdicts.get(part) ?? true) : part !== false);
  const refuses = ({ own, all, someOf }: Parts): boolean =>
    !own || !all.every(accepts) || !someOf.every((list) => list.some(accepts));
  const wholesOf = toWholes(found);
  // The last found first: parts before what combines them, which is then mostly looked at once.
  const doubtful = [...found];
  const waiting = new Set(found.keys());
  for (let next = doubtful.pop(); next !== undefined; next = doubtful.pop()) {
    const [schema, parts] = next;
    waiting.delete(schema);
    if (verdicts.get(schema) === false || !refuses(parts)) continue;
    verdicts.set(schema, false);
    for (const whole of wholesOf.get(schema) ?? []) {
      if (!waiting.has(whole[0])) doubtful.push(whole);
      waiting.add(whole[0]);
    }
  }
};

type Entry = [schema: Schema, parts: Parts];

/** Part → what combines it. */
const toWholes = (found: ReadonlyMap<Schema, Parts>): ReadonlyMap<Schema, readonly Entry[]> => {
  const wholesOf = new Map<Schema, Entry[]>();
  for (const entry of found)
    for (const part of schemasIn(entry[1])) {
      const wholes = wholesOf.get(part) ?? [];
      wholes.push(entry);
      wholesOf.set(part, wholes);
    }
  return wholesOf;
};

const acceptsLiteral = (schema: Schema): boolean => {
  const type = schema['type'];
  if (type !== undefined && ![type].flat().includes('null')) return false;
  if ('const' in schema && schema['const'] !== null) return false;
  return listOf(schema['enum'])?.includes(null) ?? true;
};
