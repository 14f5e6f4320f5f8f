/** A JSON object: only members of its own are read, never those of its prototype. */
export type JsonRecord = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member of a value that may be a record; undefined where there is none. */
export const memberOf = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** What a JSON text says, of the type that its writer promises, or the parser's message. */
export const parseJson = <Value = unknown>(text: string): { readonly value: Value } | { readonly why: string } => {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { why: error instanceof Error ? error.message : 'not JSON' };
  }
};

/** Leads from the arguments to a value in them. */
export type JsonPath = readonly (string | number)[];

/** The value at a path; undefined where there is none. */
export const valueAt = (root: unknown, path: JsonPath): unknown => path.reduce(step, root);

const step = (value: unknown, key: string | number): unknown =>
  typeof key === 'number' ? listOf(value)[key] : memberOf(value, key);

/** A copy with another value at the path; undefined takes it out. What lies on the way is made where it is missing. */
export const withValueAt = (root: unknown, [key, ...rest]: JsonPath, value: unknown): unknown => {
  if (key === undefined) return value;
  const inner = withValueAt(step(root, key), rest, value);
  if (typeof key === 'number') return listOf(root).toSpliced(key, 1, ...(inner === undefined ? [] : [inner]));
  // By entries: `__proto__` becomes a member like any other.
  const entries = new Map(Object.entries(isRecord(root) ? root : {}));
  if (inner === undefined) entries.delete(key);
  else entries.set(key, inner);
  return Object.fromEntries(entries);
};

/** How deep a value is nested, counted without recursion; stops counting at `limit`. */
export const depthOf = (value: unknown, limit: number): number => {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth < limit; depth += 1) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
    if (level.length === 0) return depth;
  }
  return limit;
};

/** Makes something of an object once, as long as it is there: the page is rendered anew at every key that is pressed. */
export const oncePerObject = <Of extends object, Made>(make: (of: Of) => Made): ((of: Of) => Made) => {
  const made = new WeakMap<Of, Made>();
  return (of) => {
    const value = made.get(of) ?? make(of);
    made.set(of, value);
    return value;
  };
};

// Beyond this a value is shown as it came: recursion would end in an error, and indentation would weigh more than it.
const MAX_DEPTH = 64;

/** A value as JSON to be read: indented. One that is nested too deep for that is only described. */
export const toJsonText = (value: unknown): string =>
  typeof value === 'object' && value !== null ? indentObject(value) : (JSON.stringify(value) ?? '');

const indentObject = oncePerObject((value: object): string =>
  depthOf(value, MAX_DEPTH) < MAX_DEPTH
    ? JSON.stringify(value, null, 2)
    : `Nested more than ${MAX_DEPTH} levels deep. The raw answer below shows all of it.`,
);

// A string as a whole, a pair of brackets with nothing in it, another bracket or sign, or blanks. A string that is cut off ends
// with the text: a pattern that fails there would take time that doubles with every character.
const TOKEN = /"(?:[^"\\]+|\\.)*(?:"|\\?$)|[[{]\s*[\]}]|[[\]{},:]|\s+/gs;

/**
 * A JSON text, indented without reading it: every digit stays. One that is mostly brackets is left as it is, since of a
 * megabyte of them blanks would make a hundred.
 */
export const indentJson = (text: string): string => {
  const maxBlanks = 10_000 + text.length * 8;
  let blanks = 0;
  let depth = 0;
  const breakLine = (change: -1 | 0 | 1): string => {
    depth = Math.max(depth + change, 0);
    blanks += depth * 2;
    return blanks > maxBlanks ? '' : `\n${'  '.repeat(depth)}`;
  };
  const indented = text.replace(TOKEN, (token) => {
    if ('[{'.includes(token)) return token + breakLine(1);
    if (']}'.includes(token)) return breakLine(-1) + token;
    if (token === ',') return token + breakLine(0);
    if (token === ':') return ': ';
    return token.startsWith('"') ? token : token.replaceAll(/\s/g, '');
  });
  return blanks > maxBlanks ? text : indented;
};
