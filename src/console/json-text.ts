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
  return `Nested more than ${MAX_DEPTH} levels deep. The raw answer below has all of it.`;
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
