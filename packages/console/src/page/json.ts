// What arrives is read member by member, and what is missing has a plain default: the page shows what it can of an
// answer by an older or newer service, and never breaks on one.

export type JsonRecord = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value as a record; an empty one where it is something else. */
export const recordOf = (value: unknown): JsonRecord => (isRecord(value) ? value : {});

/** A member of the record's own, never one of its prototype. */
export const memberOf = (record: JsonRecord, name: string): unknown =>
  Object.hasOwn(record, name) ? record[name] : undefined;

export const textOf = (value: unknown, otherwise = ''): string => (typeof value === 'string' ? value : otherwise);

export const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const recordsOf = (value: unknown): readonly JsonRecord[] => listOf(value).map(recordOf);

/** Reads a record's members by name. */
export const membersOf = (value: unknown) => {
  const any = (name: string): unknown => memberOf(recordOf(value), name);
  return {
    any,
    text: (name: string, otherwise = ''): string => textOf(any(name), otherwise),
    number: (name: string): number | null => numberOf(any(name)),
    count: (name: string): number => numberOf(any(name)) ?? 0,
    isTrue: (name: string): boolean => any(name) === true,
  } as const;
};

type Parsed = { readonly kind: 'value'; readonly value: unknown } | { readonly kind: 'broken'; readonly why: string };

/** What a JSON text says, or the parser's message. */
export const parseJson = (text: string): Parsed => {
  try {
    return { kind: 'value', value: JSON.parse(text) };
  } catch (error) {
    return { kind: 'broken', why: error instanceof Error ? error.message : 'not JSON' };
  }
};

/** Leads from the arguments to a value in them. */
export type JsonPath = readonly (string | number)[];

/** The value at a path; undefined where there is none. */
export const valueAt = (root: unknown, path: JsonPath): unknown => path.reduce(step, root);

const step = (value: unknown, key: string | number): unknown => {
  if (typeof key === 'number') return Array.isArray(value) ? value[key] : undefined;
  return isRecord(value) ? memberOf(value, key) : undefined;
};

/** A copy with another value at the path; undefined takes it out. What lies on the way is made where it is missing. */
export const withValueAt = (root: unknown, [key, ...rest]: JsonPath, value: unknown): unknown => {
  if (key === undefined) return value;
  const inner = withValueAt(step(root, key), rest, value);
  return typeof key === 'number' ? withItem(root, key, inner) : withMember(root, key, inner);
};

const withItem = (root: unknown, index: number, item: unknown): unknown => {
  const items: readonly unknown[] = Array.isArray(root) ? root : [];
  return item === undefined ? items.toSpliced(index, 1) : items.toSpliced(index, 1, item);
};

// By entries: `__proto__` becomes a member like any other.
const withMember = (root: unknown, name: string, member: unknown): unknown => {
  const entries = new Map(Object.entries(isRecord(root) ? root : {}));
  if (member === undefined) entries.delete(name);
  else entries.set(name, member);
  return Object.fromEntries(entries);
};

// Beyond this a value is shown as it came: recursion would end in an error, and indentation would weigh more than it.
const MAX_DEPTH = 64;

const childrenOf = (value: unknown): readonly unknown[] =>
  typeof value === 'object' && value !== null ? Object.values(value) : [];

/** How deep a value is nested, counted without recursion; stops counting at `limit`. */
export const depthOf = (value: unknown, limit: number): number => {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth < limit; depth += 1) {
    level = level.flatMap(childrenOf);
    if (level.length === 0) return depth;
  }
  return limit;
};

/** Makes something of an object once, for as long as it is there: the page is rendered anew at every key that is pressed. */
export const oncePerObject = <Of extends object, Made>(make: (of: Of) => Made): ((of: Of) => Made) => {
  const made = new WeakMap<Of, { readonly of: Made }>();
  return (of) => {
    const known = made.get(of) ?? { of: make(of) };
    made.set(of, known);
    return known.of;
  };
};

/** A value as JSON to be read: indented. One that is nested too deep for that is only described. */
export const toJsonText = (value: unknown): string =>
  typeof value === 'object' && value !== null ? textOfObject(value) : indent(value);

const indent = (value: unknown): string => {
  if (depthOf(value, MAX_DEPTH) < MAX_DEPTH) return JSON.stringify(value, null, 2) ?? '';
  return `Nested more than ${MAX_DEPTH} levels deep. The raw answer below shows all of it.`;
};

const textOfObject = oncePerObject(indent);

// Of a megabyte of brackets, blanks would make a hundred.
const MAX_GROWTH = 8;
const MIN_BLANKS = 10_000;

const TOKEN = /"(?:[^"\\]+|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const OPENS = new Set(['{', '[']);
const CLOSES = new Set(['}', ']']);

/** Whether a line ends before a token: after an opening bracket and a comma, and before a closing one, but never in `{}`. */
const breaksBefore = (token: string, previous: string): boolean =>
  CLOSES.has(token) ? !OPENS.has(previous) : OPENS.has(previous) || previous === ',';

const depthChange = (token: string): number => {
  if (OPENS.has(token)) return 1;
  return CLOSES.has(token) ? -1 : 0;
};

/**
 * A JSON text, indented without reading it: every digit stays. One that is nested too deep, or is mostly brackets, is left
 * as it is.
 */
export const indentJson = (text: string): string => {
  const parts: string[] = [];
  let depth = 0;
  let blanks = 0;
  let previous = '';
  for (const [token] of text.matchAll(TOKEN)) {
    const outer = depth + Math.min(depthChange(token), 0);
    if (breaksBefore(token, previous)) {
      parts.push('\n', '  '.repeat(Math.max(outer, 0)));
      blanks += Math.max(outer, 0) * 2;
    }
    parts.push(token === ':' ? ': ' : token);
    depth += depthChange(token);
    if (depth > MAX_DEPTH || blanks > MIN_BLANKS + text.length * MAX_GROWTH) return text;
    previous = token;
  }
  return parts.join('');
};
