/** An object of a parsed document. Nothing is known of its members. */
export type JsonRecord = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isArray = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** An own member of whatever was received, undefined where there is none: a document may call one `__proto__` or `constructor`. */
export const memberOf = (value: unknown, name: string): unknown =>
  hasMembers(value) && Object.hasOwn(value, name) ? value[name] : undefined;

const hasMembers = (value: unknown): value is JsonRecord => typeof value === 'object' && value !== null;

/** The member where it is an object, else an empty one. */
export const recordAt = (record: JsonRecord, name: string): JsonRecord => {
  const member = memberOf(record, name);
  return isRecord(member) ? member : {};
};

/** The member where it is a text with something in it. */
export const textAt = (record: JsonRecord, name: string): string | undefined => {
  const member = memberOf(record, name);
  return typeof member === 'string' && member.trim() !== '' ? member : undefined;
};

/** The member where it is a list, else an empty one. */
export const listAt = (value: unknown, name: string): readonly unknown[] => {
  const member = memberOf(value, name);
  return isArray(member) ? member : [];
};

/** The texts of a list. */
export const textsAt = (record: JsonRecord, name: string): readonly string[] =>
  listAt(record, name).filter((item) => typeof item === 'string');

const NO_KEYS: ReadonlySet<string> = new Set();

/**
 * Whether a JSON value holds more than `most` values, itself included, without what stands under `passedOver` keys. Never
 * recursive, and does not look at all of what is too large.
 */
export const hasMoreNodes = (value: unknown, most: number, passedOver: ReadonlySet<string> = NO_KEYS): boolean => {
  const stack: unknown[] = [value];
  let nodes = 0;
  while (stack.length > 0) {
    const node = stack.pop();
    nodes += 1;
    const members = membersOf(node, passedOver, most - nodes - stack.length);
    if (members === null) return true;
    for (const member of members) stack.push(member);
  }
  return nodes > most;
};

/** Null where they are more than `room`: then their values are not read, which takes twice as long as to list their names. */
const membersOf = (node: unknown, passedOver: ReadonlySet<string>, room: number): readonly unknown[] | null => {
  if (Array.isArray(node)) return node.length > room ? null : node;
  if (!isRecord(node)) return [];
  const all = Object.keys(node);
  const names = passedOver.size === 0 ? all : all.filter((name) => !passedOver.has(name));
  return names.length > room ? null : names.map((name) => node[name]);
};
